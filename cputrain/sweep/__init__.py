"""The driver: which cells run, in which environment, in which order, and how far it is."""
