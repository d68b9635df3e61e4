"""Which environment runs an experiment, and where IPEX's can be."""

import json
import platform

import pytest
from settled import settled

from cputrain import paths
from cputrain.run import placement, stacks, suite

TORCH, IPEX = settled(), settled(engine="ipex")
FLAGS = "fma avx2 f16c bmi2"
AVX512 = f"{FLAGS} avx512bw avx512dq avx512vl"


@pytest.fixture
def cpu(tmp_path, monkeypatch):
    """Makes a machine whose CPU has some flags."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")

    def made(flags):
        (tmp_path / "proc").mkdir(exist_ok=True)
        (tmp_path / "proc" / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
        return tmp_path

    return made


def test_an_engine_has_one_environment(monkeypatch):
    monkeypatch.delenv(stacks.VARIABLE, raising=False)
    assert stacks.why_elsewhere(TORCH) is None
    assert "bench.py run --ipex" in stacks.why_elsewhere(IPEX)
    assert "bench.py run --ipex" in placement.why_not(IPEX)
    monkeypatch.setenv(stacks.VARIABLE, "ipex")
    assert stacks.why_elsewhere(IPEX) is None
    assert "'ipex' only" in stacks.why_elsewhere(TORCH)
    assert stacks.why_elsewhere(TORCH, stacks.MAIN) is None


@pytest.mark.parametrize(
    ("flags", "fp32", "bf16"),
    [
        (AVX512, None, None),
        (f"{FLAGS} avx_ne_convert", None, None),
        (FLAGS, None, "avx512bw, avx512dq, avx512vl or avx_ne_convert"),
        (f"{FLAGS} avx512bw avx512vl", None, "and this CPU has neither"),
        ("sse4_2 avx", "IPEX needs AVX2", "IPEX needs AVX2"),
    ],
)
def test_what_ipex_needs_of_the_cpu(cpu, monkeypatch, flags, fp32, bf16):
    monkeypatch.setattr(stacks, "PYTHONS", ((3, 0), (3, 99)))
    root = cpu(flags)
    for experiment, said in ((IPEX, fp32), (IPEX.but(precision="bf16"), bf16)):
        reason = stacks.why_not(experiment, root)
        assert reason is None if said is None else said in reason
    assert stacks.why_not(TORCH.but(precision="bf16"), root) is None


def test_pythons_and_platforms_without_a_wheel_are_named(cpu, monkeypatch):
    root = cpu(AVX512)
    assert stacks.why_no_ipex(root, (3, 11)) is None and stacks.why_no_ipex(root, (3, 13)) is None
    assert stacks.why_no_ipex(root, (3, 14)) == (
        "IPEX 2.8 is for Python 3.11 to 3.13, and this is 3.14"
    )
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert "x86-64 only, and this is Linux on aarch64" in stacks.why_no_ipex(root, (3, 11))


def lines(name):
    text = (paths.PROJECT / name).read_text()
    return dict(line.split("==") for line in text.splitlines() if "==" in line and ";" not in line)


def test_both_environments_share_results_and_pins():
    main, ipex = (
        json.loads((paths.PROJECT / stacks.CONFIGURATION[stack]).read_text())
        for stack in stacks.ALL
    )
    assert ipex["matrix"].pop("env") == {stacks.VARIABLE: ["ipex"]}
    (command,) = [line for line in ipex["install_command"] if "-r " in line]
    assert command.endswith(stacks.REQUIREMENTS[stacks.IPEX])
    ipex["install_command"] = main["install_command"]
    # Libraries for the main stack's suites are looked for in its own folder alone.
    assert ipex.pop("env_dir") == ".asv/env-ipex" != main.pop("env_dir")
    assert ipex == main
    mine, shared = lines("requirements-ipex.txt"), lines("requirements.txt")
    assert mine.pop("torch") == mine.pop("intel-extension-for-pytorch") == "2.8.0"
    assert mine.items() <= shared.items()


class Engines(suite.Suite):
    """Two environments."""

    values = ("torch", "ipex")
    name = "engine"

    def vary(self, base, value):
        return base.but(engine=value)


def test_asv_in_the_wrong_environment_leaves_what_is_recorded(own_root, monkeypatch):
    """As `asv run --bench Framework` by hand does it."""
    monkeypatch.delenv(stacks.VARIABLE, raising=False)
    path = own_root / "output" / "here" / "Engines" / "ipex" / "run.json"
    with pytest.raises(NotImplementedError, match="environment of its own"):
        Engines().setup("ipex")
    (skip,) = json.loads(path.read_text())["workers"]
    assert (skip["status"], "run --ipex" in skip["reason"]) == ("skipped", True)

    path.write_text('{"workers": ["measured"]}')
    with pytest.raises(NotImplementedError, match="environment of its own"):
        Engines().setup("ipex")
    assert path.read_text() == '{"workers": ["measured"]}'
    monkeypatch.setenv(stacks.VARIABLE, "ipex")
    with pytest.raises(NotImplementedError, match="engine = 'ipex' only"):
        Engines().setup("torch")
