"""The verb `tune`: races of settings that do the same work, and a test of the winner."""
