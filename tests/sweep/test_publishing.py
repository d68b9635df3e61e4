"""The verb `publish`: asv's own pages, with this project's words on them."""

import json
import subprocess
import sys

import pytest
from found_suites import ALL

from cputrain import environ, paths
from cputrain.commands import cli
from cputrain.errors import RunError
from cputrain.report.asv_pages import publisher
from cputrain.sweep import publishing

pytestmark = pytest.mark.tools


@pytest.fixture
def config(tmp_path):
    """asv's configuration of a folder with one result, of the commit that is checked out here."""
    results = tmp_path / "result" / "asv"
    (results / "mine").mkdir(parents=True)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=paths.PROJECT, capture_output=True, text=True, check=True
    ).stdout.strip()
    name, params = "training.SeqLen.time_train_steps", [["128", "256"], ["'torch'"]]
    about = {"name": name, "params": params, "param_names": ["seq_len", "engine"], "code": ""}
    about |= {"unit": "seconds", "version": "1", "type": "time", "pretty_name": "SeqLen"}
    benchmarks = {name: about, "version": 2}
    (results / "benchmarks.json").write_text(json.dumps(benchmarks))
    machine = {"machine": "mine", "version": 1}
    (results / "mine" / "machine.json").write_text(json.dumps(machine))
    result = {"commit_hash": commit, "env_name": "e", "date": 0, "params": {"machine": "mine"}}
    result |= {"python": "3.11", "requirements": {}, "env_vars": {}, "durations": {}, "version": 2}
    result |= {"result_columns": ["result", "params", "version"]}
    result |= {"results": {name: [[0.1, 0.2], params, "1"]}}
    (results / "mine" / "result.json").write_text(json.dumps(result))
    settings = json.loads((paths.PROJECT / "asv.conf.json").read_text())
    settings |= {"repo": str(paths.PROJECT), "benchmark_dir": str(paths.PROJECT / "benchmarks")}
    path = tmp_path / "asv.conf.json"
    path.write_text(json.dumps(settings))
    return path


def test_pages_are_asv_s_own_with_one_script_of_ours(config):
    pages, problems = publishing.publish(config, is_offline=False)
    assert not problems
    page = (pages / "index.html").read_text()
    assert page.count(publisher.NAME) == 1 and "https://cdnjs.cloudflare.com" in page
    assert page.index("asv.js") < page.index(publisher.NAME) < page.index("graphdisplay.js")
    assert (pages / publisher.NAME).read_bytes() == publisher.SCRIPT.read_bytes()
    index = json.loads((pages / "index.json").read_text())
    assert list(index["machines"]) == ["mine"] and len(index["graph_param_list"]) == 1


def test_what_asv_does_not_take_is_a_line_and_the_rest_is_published(config):
    damaged = config.parent / "result" / "asv" / "mine" / "damaged.json"
    damaged.write_text('{"version": 2}')
    pages, problems = publishing.publish(config, is_offline=False)
    assert len(problems) == 1 and damaged.name in problems[0]
    assert json.loads((pages / "index.json").read_text())["graph_param_list"]


def test_what_ends_asv_is_one_line(config):
    (config.parent / "result" / "asv" / "benchmarks.json").write_text("{")
    with pytest.raises(RunError, match="asv publish failed; it said: ") as caught:
        publishing.publish(config, is_offline=False)
    assert "benchmarks.json" in str(caught.value) and "\n" not in str(caught.value)


@pytest.fixture
def merged(config):
    """The same as after a merge alone: asv has not run here, and so has described no suite."""
    results = config.parent / "result" / "asv"
    (results / "benchmarks.json").unlink()
    (suite,) = (its.suite for its in ALL if its.name == "SeqLen")
    result = json.loads((results / "mine" / "result.json").read_text())
    for row in result["results"].values():
        row[-1] = suite.version
    (results / "mine" / "result.json").write_text(json.dumps(result))
    return config


def test_results_that_were_merged_are_published_by_the_suites_of_this_clone(merged):
    pages, problems = publishing.publish(merged, is_offline=False)
    assert not problems
    index = json.loads((pages / "index.json").read_text())
    assert list(index["machines"]) == ["mine"] and len(index["graph_param_list"]) == 1
    assert {its.benchmark for its in ALL} == index["benchmarks"].keys()
    assert not (merged.parent / "result" / "asv" / "benchmarks.json").exists()


def test_a_suite_that_cannot_be_imported_is_one_line(merged):
    suites = merged.parent / "benchmarks"
    suites.mkdir()
    (suites / "__init__.py").touch()
    (suites / "mine.py").write_text("import no_such_module")
    settings = json.loads(merged.read_text()) | {"benchmark_dir": str(suites)}
    merged.write_text(json.dumps(settings))
    with pytest.raises(
        RunError, match=r"asv discovery of the suites failed; .*no_such.*bench\.py list"
    ) as caught:
        publishing.publish(merged, is_offline=False)
    assert "\n" not in str(caught.value)
    assert not (merged.parent / "result" / "asv" / "benchmarks.json").exists()


def test_facts_of_a_machine_alone_are_nothing_to_publish(merged):
    (merged.parent / "result" / "asv" / "mine" / "result.json").unlink()
    with pytest.raises(RunError, match="nothing to publish: no results of asv in "):
        publishing.publish(merged, is_offline=False)


def test_nothing_measured_yet_is_one_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "cputrain.commands.cli", "publish", "--offline"],
        env={environ.ROOT: str(tmp_path), "PYTHONPATH": str(paths.PROJECT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("bench.py: nothing to publish: no results of asv in ")


def test_the_verb_and_its_flag():
    assert cli.parse(["publish", "--offline"]).offline and not cli.parse(["publish"]).offline
