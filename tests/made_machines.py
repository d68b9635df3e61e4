"""Made machines: trees of the kernel's files in a temporary folder."""

from pathlib import Path

import pytest

CPUINFO = """processor\t: {id}
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 106
model name\t: Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz
stepping\t: 6
microcode\t: 0xd0003a5
flags\t\t: fpu sse4_2 avx avx2 fma f16c avx512f avx512bw avx512_vnni
"""


class Tree:
    """Write files below `root`, by their absolute names."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, files: dict[str, object]) -> None:
        for name, content in files.items():
            path = self.root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(f"{content}\n")


@pytest.fixture
def tree(tmp_path):
    """A machine that says nothing yet."""
    root = tmp_path / "root"
    root.mkdir()
    return Tree(root)


@pytest.fixture
def server(tree):
    """2 sockets x 4 cores x 2 threads, 2 nodes, numbered as Linux does: siblings 8 apart."""
    cpu = "/sys/devices/system/cpu"
    for id in range(16):
        first = id % 8
        siblings, package = f"{first},{first + 8}", first // 4
        own = f"{cpu}/cpu{id}"
        tree.put(
            {
                f"{own}/topology/core_cpus_list": siblings,
                f"{own}/topology/core_id": first % 4,
                f"{own}/topology/physical_package_id": package,
                f"{own}/cpufreq/scaling_governor": "powersave",
            }
        )
        shared = "0-3,8-11" if package == 0 else "4-7,12-15"
        caches = ((1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "1280K"))
        for index, (level, kind, size) in enumerate(caches):
            tree.put(
                {
                    f"{own}/cache/index{index}/{k}": v
                    for k, v in (
                        ("level", level),
                        ("type", kind),
                        ("size", size),
                        ("shared_cpu_list", siblings),
                    )
                }
            )
        tree.put(
            {
                f"{own}/cache/index3/{k}": v
                for k, v in (
                    ("level", 3),
                    ("type", "Unified"),
                    ("size", "49152K"),
                    ("shared_cpu_list", shared),
                )
            }
        )
    tree.put(
        {
            "/proc/cpuinfo": "\n".join(CPUINFO.format(id=id) for id in range(16)),
            "/proc/meminfo": "MemTotal: 268435456 kB\nMemFree: 1 kB\nMemAvailable: 134217728 kB\n"
            "SwapTotal: 8388608 kB\nSwapFree: 4194304 kB",
            "/proc/sys/kernel/osrelease": "6.1.0-18-amd64",
            "/proc/loadavg": "12.50 3.00 1.00 3/900 4242",
            "/proc/self/cgroup": "0::/user.slice/job",
            "/etc/machine-id": "0123456789abcdef0123456789abcdef",
            f"{cpu}/online": "0-15",
            f"{cpu}/intel_pstate/no_turbo": "0",
            f"{cpu}/vulnerabilities/meltdown": "Not affected",
            f"{cpu}/vulnerabilities/spectre_v1": "Mitigation: usercopy/swapgs barriers",
            f"{cpu}/vulnerabilities/mds": "Vulnerable: Clear CPU buffers attempted, no microcode",
            "/sys/devices/system/node/node0/cpulist": "0-3,8-11",
            "/sys/devices/system/node/node1/cpulist": "4-7,12-15",
            "/sys/devices/system/node/node0/distance": "10 21",
            "/sys/devices/system/node/node1/distance": "21 10",
            "/sys/fs/cgroup/user.slice/job/cpu.max": "150000 100000",
            "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        }
    )
    return tree


@pytest.fixture
def bare(tree):
    """A virtual machine that tells hardly anything."""
    tree.put(
        {"/proc/cpuinfo": "processor\t: 0\nflags\t: hypervisor sse2", "/proc/loadavg": "0 0 0"}
    )
    return tree
