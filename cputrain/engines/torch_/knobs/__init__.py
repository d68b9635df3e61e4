"""Settings of a worker's process that only torch has."""
