"""What pairs of workers of two releases, or commits, say: ratios, causes, losses."""
