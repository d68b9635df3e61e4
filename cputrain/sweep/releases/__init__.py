"""Releases of packages, or commits of this project, side by side: `compare --stack`, `--git`."""
