"""Every engine on the same work, in one interleaved run: the verb `engines`."""
