"""The suites: one short class per variable. The classes' docstrings are what the tables say."""
