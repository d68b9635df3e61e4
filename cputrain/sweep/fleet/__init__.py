"""One sweep on each node of a cluster, through submitit, and their results here."""
