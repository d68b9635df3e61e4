"""The verbs of bench.py, and their parser."""
