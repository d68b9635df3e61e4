"""The example's machine beside others: what it is called, and what is said where it is alone."""

import pytest
from made_compared import measured
from made_project import Project
from roots import take_root

from cputrain import paths
from cputrain.commands import cli
from cputrain.machine import registry

pytestmark = pytest.mark.tools


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone whose example is of a machine called "one"; nothing was measured in it."""
    measured(Project(tmp_path / "example"), "one", 1.0)
    (tmp_path / "example" / "example.json").write_text('{"schema": 1, "machine": "one"}')
    monkeypatch.setattr(paths, "PROJECT", tmp_path)
    take_root(monkeypatch, tmp_path)
    monkeypatch.setattr(registry, "name_here", lambda **_: registry.Registration("one"))
    return Project(tmp_path)


def said(capsys, *words):
    status = cli.main([*words])
    output = capsys.readouterr()
    return status, output.out + output.err


@pytest.mark.parametrize(
    "words", [["example"], ["one"], ["one", "example"], ["example", "one"], ["two"]]
)
def test_it_stands_beside_a_machine_of_its_own_name(clone, capsys, words):
    measured(clone, "one", 0.5)
    measured(clone, "two", 0.5)
    status, text = said(capsys, "compare", *words)
    names = words if len(words) > 1 else [*({*words} - {"example"} or ["one"]), "example"]
    assert status == 0 and f"{names[0]} beside {names[1]}: time" in text
    assert ("slower" if words[0] == "example" and len(words) > 1 else "faster") in text
    is_said = "one is this clone's; the example's machine of this name is example" in text
    assert is_said == ("one" in names)
    page = (clone.root / "result" / "compare" / f"{'-'.join(names)}.md").read_text()
    assert f"time of {names[0]} over {names[1]}" in page


def test_both_of_its_names_are_one_machine(clone, capsys):
    measured(clone, "two", 0.5)
    status, text = said(capsys, "compare", "two")
    assert status == 0 and "two beside one: time" in text and "this clone's" not in text
    status, text = said(capsys, "compare", "example", "one")
    assert status == 2 and "one and example are one machine" in text
    status, text = said(capsys, "compare", "example")
    assert status == 2 and "as in python3 bench.py compare two example" in text


@pytest.mark.parametrize("words", [["one"], ["example"], []])
def test_where_nothing_was_measured_it_is_said_what_to_do(clone, capsys, words):
    status, text = said(capsys, "compare", *words)
    assert status == 2 and len(text.splitlines()) == 1
    assert "python3 bench.py measures this one" in text and "merge FILE takes in" in text
    status, text = said(capsys, "machine", "one")
    assert status == 2 and "python3 bench.py compare example puts this machine beside it" in text
