"""Measure how the time of training small language models on a CPU depends on each setting."""

__version__ = "0.1.0"
