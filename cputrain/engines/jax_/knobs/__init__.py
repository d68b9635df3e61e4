"""Settings of a worker's process that only JAX has."""
