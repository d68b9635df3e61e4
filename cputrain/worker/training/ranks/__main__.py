"""A rank's start: its mask comes first, then everything that imports."""

from cputrain.machine import parent
from cputrain.worker.ranks import torchrun

if __name__ == "__main__":
    parent.die_with_parent()
    torchrun.take_place()

    from cputrain.worker import serving
    from cputrain.worker.training.ranks import process

    serving.leave(process.main)
