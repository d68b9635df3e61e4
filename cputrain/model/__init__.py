"""The model on paper: its parameters, initial weights, and the work and memory of a step."""
