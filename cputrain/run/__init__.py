"""asv's side of a cell: suite, cell, placement, and how its worker starts. Standard library."""
