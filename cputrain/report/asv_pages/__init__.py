"""asv's published pages: what this project adds to them, and their scripts without a network."""
