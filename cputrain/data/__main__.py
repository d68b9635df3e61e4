"""Prepare the data: `python -m cputrain.data`. The second run finds everything made."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cputrain import paths
from cputrain.data import corpus, tokens


def main(arguments: list[str] | None = None) -> int:
    """Prepare corpus and tokens, print one line on each; 2 where that is impossible."""
    parser = argparse.ArgumentParser(
        prog="python -m cputrain.data",
        description="Fetch the corpus and make the token arrays, once, into the data folder.",
    )
    parser.add_argument("--offline", action="store_true", help="never touch the network")
    parser.add_argument(
        "--root", type=Path, default=paths.DATA, metavar="DIR", help="data folder (%(default)s)"
    )
    parser.add_argument(
        "--vocab-size",
        type=int,
        nargs="+",
        action="extend",
        metavar="N",
        help=f"vocabularies to prepare ({tokens.BYTES}, which is bytes); may be repeated",
    )
    parser.add_argument(
        "--rows", type=int, default=corpus.ROWS, metavar="N", help="rows to use (%(default)s)"
    )
    options = parser.parse_args(arguments)
    try:
        text = corpus.load(options.root, offline=options.offline)
        if text.note:
            print(text.note)
        print(f"{text.source}: {len(text.rows)} rows, fingerprint {text.fingerprint[:12]}")
        for size in options.vocab_size or [tokens.BYTES]:
            made = tokens.token_array(text, size, options.rows, options.root)
            print(f"{made.tokenizer}: {len(made.ids)} tokens, {made.vocab} ids")
    except corpus.DataError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
