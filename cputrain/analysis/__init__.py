"""What the numbers say: effects with their intervals, verdicts, noise, the ranking of suites."""
