"""Settings of a worker's process that only our own C has."""
