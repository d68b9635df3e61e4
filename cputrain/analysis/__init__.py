"""What the numbers say: intervals, effects, the noise floor, the ranking of suites."""
