"""The reference: NumPy, with a backward pass written by hand."""
