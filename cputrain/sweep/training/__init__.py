"""A run of many steps, followed to its end: the verb `train`."""
