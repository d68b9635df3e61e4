"""Effects from pairs of blocks: what a cell's time is over that of the reference beside it.

Pure functions over numbers: nothing here reads records or knows engines by name. In the order in
which a session uses them: `noise` (what identical workers differ by), `effect`, `verdict`,
`planning` (which cells get another pass, and of how many pairs).
"""
