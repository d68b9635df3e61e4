"""Processes that train together: torchrun starts them, DDP averages their gradients over gloo."""
