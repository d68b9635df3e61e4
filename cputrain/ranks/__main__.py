"""A rank's start: its mask comes first, then everything that imports."""

from cputrain import parent
from cputrain.ranks import torchrun

if __name__ == "__main__":
    parent.die_with_parent()
    torchrun.take_place()

    from cputrain import serving
    from cputrain.ranks import process

    serving.leave(process.main)
