"""Workers that are altered in one respect: with a fault of an earlier harness, for a demonstration.

What checks and training gates say of such a worker is kept beside its times instead of ending it.
Its times stand in no table of ours: they show what the fault does to a claim.
"""
