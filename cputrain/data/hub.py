"""The corpus of the hub. As a program, it is the child process that loads it.

`datasets` is loaded in a child: it is slow to import, noisy, starts threads, and may retry
for long. The caller stays quick, quiet and small, and can give up.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

NAME = "ThomasTheMaker/Arc-Corpus-sample"
ENDPOINT = "https://huggingface.co"
PROBE_S = 2.0
LOAD_S = 120.0


class HubError(RuntimeError):
    """The hub's data set cannot be had: one line says why."""


def probe(endpoint: str = ENDPOINT, patience_s: float = PROBE_S) -> None:
    """Ask the hub for the data set's card and wait at most `patience_s` seconds.

    Raises:
        HubError: no answer in that time, or one that is not the card.
    """
    outcome: list[str | None] = []

    def ask() -> None:
        url = f"{endpoint}/api/datasets/{NAME}"
        try:
            urllib.request.urlopen(url, timeout=patience_s).close()
            outcome.append(None)
        except urllib.error.HTTPError as error:
            outcome.append(f"{url} answered {error.code} {error.reason}")
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            outcome.append(f"the hub ({endpoint}) could not be reached: {_line(reason)}")

    # A thread, because looking up a name has no timeout of its own.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(patience_s)
    problem = outcome[0] if outcome else f"the hub ({endpoint}) did not answer in {patience_s:g} s"
    if problem is not None:
        raise HubError(problem)


def fetch(root: Path, least: int, endpoint: str = ENDPOINT) -> tuple[tuple[str, ...], str]:
    """The rows of the data set, and what they are; nothing stays under `root`.

    Args:
        root: the data folder, where the download lies meanwhile.
        least: rows that there must be.
        endpoint: the hub's address.

    Raises:
        HubError: the hub cannot be reached, or what it gives is not such a data set.
    """
    probe(endpoint)
    return loaded(NAME, root, least)


def loaded(
    name: str, root: Path, least: int, patience_s: float = LOAD_S
) -> tuple[tuple[str, ...], str]:
    """`fetch` without the probe; `name` may be a folder of data files too."""
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".hub.", dir=root) as folder:
        output = Path(folder) / "rows.json"
        environment = {
            **os.environ,
            "HF_HOME": folder,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        }
        command = [sys.executable, "-P", "-m", "cputrain.data.hub", name, str(output)]
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=patience_s,
                text=True,
                errors="replace",
            )
        except subprocess.TimeoutExpired as error:
            raise HubError(f"{name} did not load within {patience_s:g} s") from error
        if done.returncode:
            raise HubError(f"{name} did not load: {_line(done.stderr)}")
        content = json.loads(output.read_bytes())
    rows = tuple(content["rows"])
    if len(rows) < least:
        raise HubError(f"{name} has {len(rows)} rows, {least} are needed")
    return rows, str(content["source"])


def _line(error: object) -> str:
    """The last line that is not empty, not too long."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(error).__name__


def text_of(table: dict[str, list[Any]]) -> tuple[list[str], str]:
    """The rows of text in a table of columns, and the column's name.

    That is the column `text`, or the one with most text where there is none. A row without
    a value is an empty text.

    Raises:
        HubError: no column holds text.
    """
    texts = {
        name: [row or "" for row in rows]
        for name, rows in table.items()
        if any(rows) and all(row is None or isinstance(row, str) for row in rows)
    }
    if not texts:
        raise HubError(f"no column of text among {', '.join(table) or 'none'}")
    column = "text" if "text" in texts else max(texts, key=lambda name: sum(map(len, texts[name])))
    return texts[column], column


def main() -> int:
    """Load the data set named by the first argument and write its rows to the second."""
    import datasets

    name, output = sys.argv[1:]
    datasets.disable_progress_bars()
    datasets.utils.logging.set_verbosity_error()
    splits = datasets.load_dataset(name)
    split = "train" if "train" in splits else next(iter(splits))
    try:
        rows, column = text_of(splits[split].to_dict())
    except HubError as error:
        print(error, file=sys.stderr)
        return 1
    content = {"rows": rows, "source": f"{name} ({split}, column {column})"}
    Path(output).write_text(json.dumps(content))
    return 0


if __name__ == "__main__":
    sys.exit(main())
