"""This machine: what it is, what it is doing, and its entry in asv's registry."""
