"""Studies of the measurement itself on a real machine: they print figures, and pytest runs none.

`.asv/env/HASH/bin/python -m tests.live.identical torch 48`, from the project's root with `tests` on
PYTHONPATH and nothing else running; docs/figures/ has what they printed, with dates.
"""
