"""A machine's results as one small file, and such files taken into a clone (docs/machines.md)."""
