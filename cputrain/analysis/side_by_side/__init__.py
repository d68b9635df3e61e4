"""Engines of one interleaved run: what rounds of fresh workers say."""
