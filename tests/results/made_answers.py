"""What the first screen of a made-up machine says."""

from settled import settled

from cputrain.report import machine_export

USUAL = settled()
EVERY_PAIR = range(100)
"""Numbers of all pairs of a worker, to be disturbed."""


def page(project, machine="here"):
    project.save()
    return machine_export.read(project.root, machine, ())[0]


def answers(project, machine="here"):
    return page(project, machine).answers


def setting(project, field, values, times, **others):
    """A suite of which each value takes so many seconds beside the default experiment's 0.042."""
    project.suite(field.title(), field, values)
    for value, step_s in zip(values, times, strict=True):
        project.cell(field.title(), value, step_s, USUAL.but(**{field: value}), **others)
