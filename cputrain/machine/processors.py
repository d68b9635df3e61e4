"""What the doctor says of the CPUs: what sets their clocks, and of which kinds their cores are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from cputrain.machine import cpu, power, reading, state
from cputrain.machine.controls.control import Files
from cputrain.machine.controls.cpufreq import Turbo
from cputrain.machine.finding import Finding, looked
from cputrain.wording import counted


def findings(root: Path = reading.ROOT) -> Iterator[Finding]:
    """Governor, turbo, power source and profile, SMT, kinds of cores."""
    return looked(_LOOKS, root)


def _governor(root: Path) -> Finding:
    files = root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    governors = {reading.text(root, f"/{file.relative_to(root)}") for file in files}
    if not governors:
        raise reading.Unknown("no cpufreq here; in a virtual machine the host decides")
    if governors == {"performance"}:
        return Finding("ok", "governor: performance")
    what = f"governor: {', '.join(sorted(governors))}; the clock follows the load"
    return Finding("warn", what, "sudo cpupower frequency-set -g performance")


def _turbo(root: Path) -> Finding:
    if state.turbo(root) == "off":
        return Finding("ok", "turbo: off")
    what = "turbo: on; the clock depends on heat and on how many cores work"
    switches = Turbo(Files(root)).texts("off")
    (off,) = {*switches.values()}
    return Finding("warn", what, f"echo {off} | sudo tee {' '.join(switches)}")


def _power_source(root: Path) -> Finding:
    if power.source(root) == "mains":
        return Finding("ok", "power: mains")
    return Finding("warn", "power: battery; the clock falls as it empties", "plug it in")


def _platform_profile(root: Path) -> Finding:
    try:
        profile = power.profile(root)
    except reading.Unknown:
        return Finding("ok", "platform profile: none here")
    what = f"platform profile: {profile}"
    if profile == "performance":
        return Finding("ok", what)
    do = f"echo performance | sudo tee {power.PROFILE}"
    return Finding("warn", f"{what}; the firmware keeps power, and so clocks, down", do)


def _smt(root: Path) -> Finding:
    whole = cpu.online(root)
    if len(whole.cpus) == whole.physical_cores:
        return Finding("ok", f"SMT: none, {counted(len(whole.cpus), 'CPU')} on as many cores")
    what = (
        f"SMT: {counted(len(whole.cpus), 'CPU')} on {counted(whole.physical_cores, 'core')}; "
        "one thread per core is used"
    )
    return Finding("ok", what)


def _kinds_of_cores(root: Path) -> Finding:
    cores = cpu.online(root).cores
    efficient = sum(core[0].is_efficient for core in cores)
    if not efficient:
        return Finding("ok", "cores: all of one kind")
    fast = len(cores) - efficient
    what = f"cores: {fast} for performance and {efficient} for efficiency"
    return Finding("ok", f"{what}; CpuAffinity and tune tell if the first alone are faster")


_LOOKS: dict[str, Callable[[Path], Finding]] = {
    "governor": _governor,
    "turbo": _turbo,
    "power": _power_source,
    "platform profile": _platform_profile,
    "SMT": _smt,
    "cores": _kinds_of_cores,
}
