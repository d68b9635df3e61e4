"""The child process that writes a trained model in the layout of transformers: see `hf`.

`python -m cputrain.worker.training.exporting MODEL FOLDER` reads a run's model.safetensors. Where
it fails, the last line of its standard error says why.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cputrain.errors import UNWRITABLE, UsageError
from cputrain.worker.training import hf


def main() -> int:
    """Export one model; 2 where it cannot be, 1 where something failed on the way."""
    try:
        hf.export(Path(sys.argv[1]), Path(sys.argv[2]))
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2 if isinstance(error, UNWRITABLE) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
