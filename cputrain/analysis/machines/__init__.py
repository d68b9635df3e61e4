"""Machines beside each other: equal experiments, what pays on one of them, what differs in them."""
