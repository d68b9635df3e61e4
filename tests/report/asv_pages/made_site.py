"""asv's results of two machines over some commits, of the suites as they are, and a server."""

import functools
import http.server
import itertools
import json
import subprocess
import sys
import threading
from contextlib import contextmanager

from cputrain.paths import PROJECT

SUITES = ("SeqLen", "Precision", "Framework", "Baseline")
"""Those that have results; asv's pages list all."""
MACHINES = {"here": 1.0, "there": 0.6}
"""Two machines, and how long a step takes on them."""
COMMITS = 8
SLOWER_FROM, SLOWER = 5, 1.5
"""From this commit on SeqLen's steps take so much longer."""
HOSTILE = "<img src=x onerror='window.pwned = 1'>"
FACTS = {"arch": "x86_64", "num_cpu": "2", "l2": "2048K x 2", "smt_siblings": "0; 1"}
DISCOVERY = (
    "import sys; from asv_runner import discovery as d; d.list_benchmarks(sys.argv[1], sys.stdout)"
)


def git(folder, *words):
    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


def configuration(folder):
    """Results and a repository in `folder`; the path of asv's configuration for them."""
    repository = folder / "repository"
    repository.mkdir(parents=True)
    git(repository, "init", "--quiet")
    for number in range(COMMITS):
        date = f"--date=2026-01-0{number + 1}T12:00:00"
        git(repository, "commit", "--quiet", "--allow-empty", date, "-m", str(number))
    commits = git(repository, "rev-list", "--reverse", "HEAD").split()
    results = folder / "result" / "asv"
    results.mkdir(parents=True)
    benchmarks = discovered()
    (results / "benchmarks.json").write_text(json.dumps({**benchmarks, "version": 2}))
    for (machine, factor), (number, commit) in itertools.product(
        MACHINES.items(), enumerate(commits)
    ):
        write_results(results / machine, benchmarks, factor, number, commit)
    settings = json.loads((PROJECT / "asv.conf.json").read_text())
    settings |= {"repo": str(repository), "results_dir": str(results)}
    settings |= {"html_dir": str(folder / "html"), "benchmark_dir": str(PROJECT / "benchmarks")}
    config = folder / "asv.conf.json"
    config.write_text(json.dumps(settings))
    return config


@functools.cache
def discovered():
    """What asv discovers in benchmarks/, by name."""
    command = [sys.executable, "-c", DISCOVERY, str(PROJECT / "benchmarks")]
    done = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
    return {benchmark["name"]: benchmark for benchmark in json.loads(done.stdout)}


def write_results(folder, benchmarks, factor, number, commit):
    """asv's files of a machine at one commit."""
    facts = {**FACTS, "machine": folder.name, "cpu": f"{folder.name} {HOSTILE}", "os": "Linux"}
    folder.mkdir(exist_ok=True)
    (folder / "machine.json").write_text(json.dumps({**facts, "version": 1}))
    results = {}
    for name, benchmark in benchmarks.items():
        suite = name.split(".")[1]
        if suite in SUITES:
            slower = SLOWER if suite == "SeqLen" and number >= SLOWER_FROM else 1.0
            cells = [0.01 * (1 + k) for k, _ in enumerate(itertools.product(*benchmark["params"]))]
            values = [
                # An engine that has not every value leaves cells out, as in SeqLen.
                float("nan") if suite == "SeqLen" and k % 6 == 1 else seconds * factor * slower
                for k, seconds in enumerate(cells)
            ]
            ends = [[value * end for value in values] for end in (0.99, 1.01)]
            results[name] = [values, benchmark["params"], benchmark["version"], *ends]
    content = {
        "commit_hash": commit,
        "env_name": "virtualenv-py3.11",
        "date": 1767268800000 + 86400000 * number,
        "params": {**facts, "python": "3.11"},
        "python": "3.11",
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version", "stats_ci_99_a", "stats_ci_99_b"],
        "results": results,
        "durations": {},
        "version": 2,
    }
    (folder / f"{commit[:8]}-virtualenv-py3.11.json").write_text(json.dumps(content))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """The address of a folder's files."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
