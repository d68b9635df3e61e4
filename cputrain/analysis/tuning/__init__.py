"""What races of candidates say while they run, and what the test of the winner says after."""
