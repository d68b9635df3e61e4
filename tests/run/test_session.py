"""What processes of one session are told, and that one place knows how."""

import os
import re
from dataclasses import replace
from pathlib import Path

from cputrain import environ, paths
from cputrain.run.session import MODEL_CAP_BYTES, Session

TOLD = Session(
    id="20261122T070000-1",
    run="abc",
    machine="here",
    number=2,
    pairs={"torch": 8, "native": 22},
    mode="quick",
    offline=True,
    model_cap_bytes=5,
    events=Path("/x/events.jsonl"),
    allow_machine_changes=True,
    libraries="mkl=/x/libmkl.so",
    root=Path("/x"),
    benchmarks=Path("/x/benchmarks"),
)


def test_a_process_reads_what_it_was_told():
    assert Session.from_env(TOLD.to_env()) == TOLD
    plain = replace(
        TOLD, pairs={}, offline=False, events=None, allow_machine_changes=False, libraries=""
    )
    assert Session.from_env(plain.to_env()) == plain


def test_asv_by_hand_has_defaults(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".asv-machine.json").write_text('{"version": 1, "box": {"machine": "box"}}')
    session = Session.from_env({})
    assert not session.driven and session.id == session.run and session.id.startswith("asv-")
    assert (session.mode, session.machine, session.offline) == ("full", "box", False)
    assert session.model_cap_bytes == MODEL_CAP_BYTES and session.events is None
    assert not session.allow_machine_changes and not session.pairs
    assert (session.root, session.benchmarks) == (paths.ROOT, paths.BENCHMARKS)


def test_the_first_process_of_a_container_is_named_by_itself(monkeypatch):
    """Its parent is in another PID namespace: number 0, of which /proc knows nothing."""
    monkeypatch.setattr(os, "getppid", lambda: 0)
    assert Session.from_env({}).id.startswith(f"asv-{os.getpid()}-")


def sources():
    return {
        str(path.relative_to(paths.PROJECT)): path.read_text()
        for folder in ("cputrain", "benchmarks")
        for path in (paths.PROJECT / folder).rglob("*.py")
    }


def test_one_place_knows_the_names_of_the_variables():
    assert [name for name, text in sources().items() if "CPUTRAIN_" in text] == [
        "cputrain/environ.py"
    ]


def test_one_place_reads_what_a_session_shares():
    shared = "SESSION|RUN|MACHINE|MODE|OFFLINE|MODEL_CAP|EVENTS"
    pattern = re.compile(rf"\benviron\.({shared})\b")
    names = [name for name, text in sources().items() if pattern.search(text)]
    assert names == ["cputrain/run/session.py"]
    assert set(shared.split("|")) <= {*vars(environ)}
