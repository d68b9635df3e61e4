"""How OpenMP shares out the native engine's loops: asked of each runtime, and every lie found."""

import ast

import pytest
from toy_sources import COMPILERS, NATIVE, asking, in_process, why_no, written

from cputrain import paths
from cputrain.engines import specs
from cputrain.engines.native_ import library_build
from cputrain.engines.native_.knobs.omp_schedule import OmpSchedule
from cputrain.experiment.system import OMP_SCHEDULES
from cputrain.machine import library_search
from cputrain.run import placement

SCHEDULE, ASKING = "OpenMP's schedule of loops", "loops that ask for it"
SEEN = "the schedule that the library sees"
PROGRAM = """
import ctypes, os, sys
from pathlib import Path
from cputrain.machine import library_search, openmp
from cputrain.machine.mapped import file_of
from cputrain.engines.native_.knobs import omp_runtime, omp_schedule
from cputrain.knobs import pinning, waiting
from cputrain.record.process import Placement
from cputrain.experiment import Experiment
from cputrain.experiment.system import OMP_SCHEDULES
library = ctypes.CDLL(sys.argv[1])
library.openmp.restype = ctypes.c_void_p
readings = {
    "openmp": file_of(ctypes.c_void_p(library.openmp())), "run_sched": openmp.schedule()
}
found = {
    name: {c.name: c.ok for c in omp_schedule.in_force(name, [Path(sys.argv[1])], readings)}
    for name in OMP_SCHEDULES
}
experiment = Experiment().but(
    engine="native", attention_backend="manual", omp_schedule="guided", wait_policy="passive"
)
runtimes = {}
try:
    names = ["libgomp", library_search.find("libiomp5") and "libiomp5"]
except library_search.Missing:
    names = ["libgomp"]
for name in names:
    asked = experiment.but(omp_runtime=name)
    place = Placement(tuple(sorted(os.sched_getaffinity(0))), 1, 1, 1)
    knobs = (omp_runtime.NativeOmpRuntime(), waiting.Waiting(), pinning.Pinning())
    checks = [check for knob in knobs for check in knob.checks(asked, place, readings)]
    checks += omp_schedule.OmpSchedule().checks(asked, place, readings)
    runtimes[name] = {check.name: check.ok for check in checks}
lies = {"openmp": "/lib/libomp.so", "run_sched": "auto"}
lying = omp_runtime.NativeOmpRuntime().checks(experiment, place, lies)
lying += omp_schedule.in_force("guided", [Path(sys.argv[1])], lies)
print({
    "lies": [check.name for check in lying if not check.ok],
    "found": found,
    "runtimes": runtimes,
    "threads": library.threads(),
    "team": len(openmp.team()),
    "path": openmp.serving().path,
    "torch": "torch" in sys.modules,
})
"""
CASES = [("gcc", "libgomp"), ("gcc", "libiomp5"), ("clang", "libiomp5")]


@pytest.fixture
def sources(own_root):
    return written(own_root / "src")


def told(library, runtime="libgomp", **env):
    """What a process with the toy library says of itself."""
    if runtime == "libiomp5":
        env |= {"LD_PRELOAD": str(library_search.find("libiomp5"))}
    env = {"PYTHONPATH": str(paths.PROJECT), "OMP_NUM_THREADS": "2", **env}
    return ast.literal_eval(in_process(PROGRAM, library, **env).splitlines()[-1])


@pytest.mark.parametrize(("cc", "runtime"), CASES, ids=lambda case: case)
def test_each_runtime_says_what_it_was_told_and_serves_the_library(sources, cc, runtime):
    if cc not in COMPILERS:
        pytest.skip(str(why_no(cc)))
    if runtime == "libiomp5":
        try:
            library_search.find(runtime)
        except library_search.Missing as missing:
            pytest.skip(str(missing))
    library = library_build.library(asking(cc), sources)
    for schedule in OMP_SCHEDULES:
        said = told(library, runtime, OMP_SCHEDULE=schedule, OMP_WAIT_POLICY="passive")
        for name, checks in said["found"].items():
            assert checks == {SCHEDULE: name == schedule, SEEN: name == schedule, ASKING: True}, (
                name
            )
    said = told(library, runtime, OMP_SCHEDULE="guided", OMP_WAIT_POLICY="passive")
    assert said["threads"] == said["team"] == 2 and not said["torch"]
    other = "libgomp" if runtime == "libiomp5" else "libiomp5"
    assert runtime in said["path"]
    assert {SEEN, "OpenMP runtime that the native engine is bound to"} <= set(said["lies"])
    assert all(said["runtimes"][runtime].values()), said["runtimes"]
    named = "OpenMP runtime that the native engine calls"
    assert said["runtimes"][runtime][named]
    assert not said["runtimes"].get(other, {}).get(named)


@pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))
def test_nothing_told_is_not_static(sources):
    """libgomp takes dynamic then, so the variable is always there."""
    said = told(library_build.library(asking(), sources))
    assert not said["found"]["static"][SCHEDULE] and said["found"]["dynamic"][SCHEDULE]
    assert not any(ok for name, ok in said["runtimes"]["libgomp"].items() if "waiting" in name)


@pytest.mark.skipif("gcc" not in COMPILERS, reason=str(why_no("gcc")))
def test_loops_that_do_not_ask_are_found(sources):
    loops = (sources / "loops.c").read_text()
    for other in ("schedule(static)", "schedule(dynamic)"):
        (sources / "loops.c").write_text(loops.replace("schedule(runtime)", other))
        said = told(library_build.library(asking(), sources), OMP_SCHEDULE="static")
        assert said["found"]["static"] == {SCHEDULE: True, SEEN: True, ASKING: False}, other


def test_it_is_told_to_the_native_engine_alone():
    for name in OMP_SCHEDULES:
        experiment = NATIVE.but(omp_schedule=name)
        assert OmpSchedule().environment(experiment, placement.place(experiment)) == {
            "OMP_SCHEDULE": name
        }
    others = [name for name in specs.NAMES if name != "native"]
    for name in others:
        assert not any(isinstance(knob, OmpSchedule) for knob in specs.of(name).knobs)
    assert OmpSchedule().why_not(NATIVE) is None
