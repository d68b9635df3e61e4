"""What the parts of a step cost on a machine, learned from its cells; predictions from that.

`terms` counts a step's work in seconds at measured rates, `observed` has what was measured, `fit`
finds what each term costs, `errors` says how far off that is where whole levels of a field were
never seen, `scope` what a prediction may be asked for, `learn` puts it together, and `predict`
uses it.
"""
