"""Engines beside torch: what the pairs of the verb `engines` say."""
