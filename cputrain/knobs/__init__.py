"""Settings of a worker's process: why not here, how each is applied, how it shows in force."""
