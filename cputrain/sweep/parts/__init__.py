"""Steps watched part by part, on every engine that can tell: the verb `parts`."""
