"""Made machines with cpufreq: trees of files, and a kernel that holds writers to its rules."""

import errno
import os
from pathlib import Path

from cputrain.machine.controls.control import Files

CPU = "/sys/devices/system/cpu"
CPUFREQ = f"{CPU}/cpufreq"
BOOST = f"{CPUFREQ}/boost"
NO_TURBO = f"{CPU}/intel_pstate/no_turbo"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
PREFERENCES = "default performance balance_performance balance_power power"


def policy(number, file):
    return f"{CPUFREQ}/policy{number}/{file}"


class Kernel(Files):
    """A tree whose writes the kernel's rules are put to.

    Attributes:
        writes: names and values in the order of writing, refused ones too.
        deaf: files that take every write and stay as they are.
    """

    def __init__(self, root: Path, files: dict[str, object]) -> None:
        super().__init__(root)
        self.writes: list[tuple[str, str]] = []
        self.deaf: set[str] = set()
        self.highest: dict[str, int] = {}  # what users asked, whatever is reachable now
        self.preferred: dict[str, str] = {}  # hidden while a governor fixes the preference
        for name, text in files.items():
            path = self.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    def number(self, name: str) -> int:
        return int(self.read(name))

    def put(self, name: str, value: str) -> None:
        self.writes.append((name, value))
        path = self.path(name)
        if not path.exists():
            raise OSError(errno.ENOENT, "No such file or directory")
        if not path.stat().st_mode & 0o222:
            raise OSError(errno.EACCES, "Permission denied")
        if name in self.deaf:
            return
        folder, _, file = name.rpartition("/")
        rules = {
            "scaling_min_freq": self._limit,
            "scaling_max_freq": self._limit,
            "scaling_governor": self._governor,
            "energy_performance_preference": self._preference,
            "boost": self._boost,
            "no_turbo": self._no_turbo,
            "enabled": self._enabled,
        }
        rules[file](folder, file, value)

    def _set(self, folder: str, file: str, value: object) -> None:
        self.path(f"{folder}/{file}").write_text(f"{value}\n")

    def _limit(self, folder, file, value):
        low, high = (self.number(f"{folder}/scaling_{end}_freq") for end in ("min", "max"))
        khz = int(value)
        if file == "scaling_max_freq":
            if khz < low:
                raise OSError(errno.EINVAL, "Invalid argument")
            self.highest[folder] = khz
            self._set(folder, file, min(self._rounded(folder, khz), self._reach(folder)))
            return
        if khz > high:
            raise OSError(errno.EINVAL, "Invalid argument")
        least = self.number(f"{folder}/cpuinfo_min_freq")
        self._set(folder, file, max(self._rounded(folder, khz), least))

    def _rounded(self, folder, khz):
        """The next step of the driver's table that is not above."""
        table = f"{folder}/scaling_available_frequencies"
        if not self.there(table):
            return khz
        steps = sorted(map(int, self.read(table).split()))
        return max([step for step in steps if step <= khz] or steps[:1])

    def _reach(self, folder):
        most = self.number(f"{folder}/cpuinfo_max_freq")
        if self.there(NO_TURBO) and self.read(NO_TURBO) == "1":
            return min(most, self.number(f"{folder}/base_frequency"))
        return most

    def _folders(self):
        return [f"{CPUFREQ}/{path.name}" for path in self.path(CPUFREQ).glob("policy*")]

    def _governor(self, folder, file, value):
        if value not in self.read(f"{folder}/scaling_available_governors").split():
            raise OSError(errno.EINVAL, "Invalid argument")
        before = self.read(f"{folder}/{file}")
        self._set(folder, file, value)
        preference = "energy_performance_preference"
        if not self.there(f"{folder}/{preference}") or before == value:
            return
        if value == "performance":
            self.preferred[folder] = self.read(f"{folder}/{preference}")
            self._set(folder, preference, "performance")
        elif folder in self.preferred:
            self._set(folder, preference, self.preferred[folder])

    def _preference(self, folder, file, value):
        if value not in PREFERENCES.split():
            raise OSError(errno.EINVAL, "Invalid argument")
        fixed = self.read(f"{folder}/scaling_governor") == "performance"
        if fixed and value != "performance":
            raise OSError(errno.EBUSY, "Device or resource busy")
        self._set(folder, file, value)

    def _no_turbo(self, folder, file, value):
        self._set(folder, file, value)
        for folder in self._folders():
            high = f"{folder}/scaling_max_freq"
            limit = self.highest.setdefault(folder, self.number(high))
            self.path(high).write_text(f"{min(limit, self._reach(folder))}\n")

    def _boost(self, folder, file, value):
        """As amd-pstate does: what cpuinfo says follows, and users' highest limits are lost."""
        self._set(folder, file, value)
        for folder in self._folders():
            if self.there(f"{folder}/boost"):
                self._set(folder, "boost", value)
            most = f"{folder}/amd_pstate_max_freq"
            if self.there(most):
                nominal = f"{CPU}/cpu{folder.rpartition('policy')[2]}/acpi_cppc/nominal_freq"
                khz = self.number(most) if value == "1" else self.number(nominal) * 1000
                self._set(folder, "cpuinfo_max_freq", khz)
                self._set(folder, "scaling_max_freq", khz)

    def _enabled(self, folder, file, value):
        words = ("always", "madvise", "never")
        if value not in words:
            raise OSError(errno.EINVAL, "Invalid argument")
        self._set(folder, file, " ".join(f"[{w}]" if w == value else w for w in words))


def policies(groups, **files):
    """One policy for each group of CPUs, with the same files."""
    contents = {}
    for cpus in groups:
        folder = f"{CPUFREQ}/policy{cpus[0]}"
        listed = " ".join(map(str, cpus))
        own = {"affected_cpus": listed, "related_cpus": listed, **files}
        contents |= {f"{folder}/{name}": text for name, text in own.items()}
    return contents


def server(root):
    """Two sockets x 4 cores x 2 threads, acpi-cpufreq with steps and boost; siblings 8 apart."""
    made = policies(
        [(core, core + 8) for core in range(8)],
        scaling_driver="acpi-cpufreq",
        scaling_available_governors="conservative ondemand performance schedutil",
        scaling_governor="schedutil",
        scaling_available_frequencies="2800000 2000000 1200000",
        cpuinfo_min_freq=1200000,
        cpuinfo_max_freq=3600000,
        scaling_min_freq=1200000,
        scaling_max_freq=2800000,
    )
    return Kernel(root, {**made, BOOST: 1, THP: "always [madvise] never"})


def laptop(root, governor="powersave", preference="balance_power", fast=(0, 1), slow=(2, 3)):
    """CPUs of intel_pstate in its active mode, two kinds of them."""
    files = {
        "scaling_driver": "intel_pstate",
        "scaling_available_governors": "performance powersave",
        "scaling_governor": governor,
        "energy_performance_preference": preference,
        "energy_performance_available_preferences": PREFERENCES,
        "cpuinfo_min_freq": 400000,
        "scaling_min_freq": 400000,
    }
    more = {"cpuinfo_max_freq": 4700000, "scaling_max_freq": 4700000, "base_frequency": 2400000}
    less = {"cpuinfo_max_freq": 3500000, "scaling_max_freq": 3500000, "base_frequency": 1800000}
    made = policies([(cpu,) for cpu in fast], **files, **more)
    made |= policies([(cpu,) for cpu in slow], **files, **less)
    return Kernel(root, {**made, NO_TURBO: 0, f"{CPU}/intel_pstate/status": "active"})


def like_this(root):
    """The laptop with the CPUs that this process may use."""
    return laptop(root, fast=tuple(sorted(os.sched_getaffinity(0))), slow=())


def desktop(root):
    """Four CPUs of amd-pstate with one boost switch that each policy shows too."""
    made = policies(
        [(cpu,) for cpu in range(4)],
        scaling_driver="amd-pstate-epp",
        scaling_available_governors="performance powersave",
        scaling_governor="powersave",
        energy_performance_preference="balance_performance",
        energy_performance_available_preferences=PREFERENCES,
        cpuinfo_min_freq=550000,
        cpuinfo_max_freq=5200000,
        amd_pstate_max_freq=5200000,
        scaling_min_freq=550000,
        scaling_max_freq=4000000,
        boost=1,
    )
    nominal = {f"{CPU}/cpu{cpu}/acpi_cppc/nominal_freq": 3800 for cpu in range(4)}
    return Kernel(root, {**made, **nominal, BOOST: 1})


def virtual(root):
    """A virtual machine: an empty cpufreq folder."""
    kernel = Kernel(root, {"/proc/cpuinfo": "processor\t: 0\nflags\t: sse2 hypervisor"})
    kernel.path(CPUFREQ).mkdir(parents=True)
    return kernel


def everything(kernel):
    """What every file says."""
    files = sorted(path for path in kernel.root.rglob("*") if path.is_file())
    return {str(path.relative_to(kernel.root)): path.read_text() for path in files}
