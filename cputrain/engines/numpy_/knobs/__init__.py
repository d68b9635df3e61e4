"""Settings of a worker's process as NumPy has them."""
