"""The suites as they are on this machine, found once for all tests of a process."""

from cputrain.sweep import plan

ALL, BROKEN = plan.survey()
assert not BROKEN, BROKEN
