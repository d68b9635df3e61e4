"""Prepare the data: `python -m cputrain.data`. The second run finds everything made."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cputrain import paths
from cputrain.data import corpus, prepared, tokens
from cputrain.experiment import Experiment, ExperimentError


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
    parser.add_argument(
        "--experiments",
        type=Path,
        metavar="FILE",
        help="prepare what these need instead: a JSON list of experiments",
    )
    options = parser.parse_args(arguments)
    try:
        text = corpus.load(options.root, offline=options.offline)
        if text.note:
            print(text.note)
        print(f"{text.source}: {len(text.rows)} rows, fingerprint {text.fingerprint[:12]}")
        if options.experiments:
            made = of_experiments(options.experiments, options.root)
        else:
            sizes = options.vocab_size or [tokens.BYTES]
            made = [tokens.token_array(text, n, options.rows, options.root) for n in sizes]
        for each in made:
            print(f"{each.tokenizer}: {len(each.ids)} tokens, {each.vocab} ids")
    except (corpus.DataError, ExperimentError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def of_experiments(path: Path, root: Path) -> list[tokens.Tokens]:
    """Prepare what the experiments listed in a file need; the tokens, each once.

    Raises:
        DataError, ExperimentError: the file is no such list, or data that cannot be used.
    """
    try:
        listed = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise corpus.DataError(f"{path}: not a list of experiments: {error}") from error
    if not isinstance(listed, list):
        raise corpus.DataError(f"{path}: not a list of experiments")
    made = {}
    for experiment in {prepared.needs(e): e for e in map(Experiment.from_json, listed)}.values():
        ids = prepared.prepare(experiment, root, offline=True).tokens  # the corpus is there by now
        made[ids.tokenizer, len(ids.ids)] = ids
    return list(made.values())


if __name__ == "__main__":
    sys.exit(main())
