"""The worker of a run of many steps: schedule, validation split, checkpoints, going on."""
