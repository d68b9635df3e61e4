"""asv's results and the run records, joined into rows and written as tables."""
