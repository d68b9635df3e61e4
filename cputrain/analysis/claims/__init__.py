"""What others claimed, put to the test: the table, the rules, the verdicts.

`table` declares every claim with the pairs that decide it; `judge` makes the verdicts from the
records alone.
"""
