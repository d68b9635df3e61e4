"""The one process that starts, forks, stops, continues and ends all workers of a run."""
