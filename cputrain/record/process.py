"""The process that trained and the machine around it: placement, state, what was changed."""

from __future__ import annotations

from typing import Any

from msgspec import field, structs

from cputrain.record.part import Count, Number, Part, Readings


class Placement(Part, frozen=True):
    """CPUs and threads of an experiment, settled for this machine (`machine.mask`).

    Attributes:
        cpus: the affinity mask, ascending.
        physical_cores: cores that it covers.
        threads: threads that compute, of all processes.
        omp_threads: threads that OpenMP is told in each process; torch may be told others later.
        ranks: the mask of each of the processes that train together; empty where there is one
            process without torchrun.
    """

    cpus: tuple[Count, ...]
    physical_cores: Count
    threads: Count
    omp_threads: Count
    ranks: tuple[tuple[Count, ...], ...] = ()

    def of_rank(self, rank: int) -> Placement:
        """One process's share, as its own placement."""
        count = len(self.ranks)
        return structs.replace(
            self,
            cpus=self.ranks[rank],
            physical_cores=self.physical_cores // count,
            threads=self.threads // count,
            ranks=(),
        )


class State(Readings, frozen=True, kw_only=True):
    """What the machine and the process were set to when warm: see `machine.state.read`."""

    cpufreq_driver: str | None = None
    governor: str | None = None
    energy_preference: str | None = None
    turbo: str | None = None
    power_source: str | None = None
    platform_profile: str | None = None
    min_ghz: Number | None = None
    max_ghz: Number | None = None
    huge_pages: str | None = None
    huge_pages_defrag: str | None = None
    anon_huge_bytes: Count | None = None
    temperature_c: Number | None = None
    load_1m: Number | None = None
    openmp: list[str] | None = None
    allocators: list[str] | None = None
    masks: dict[str, Count] | None = None
    threadpools: list[dict[str, Any]] | None = None
    numa_bytes: dict[str, Count] | None = None
    numa_policies: dict[str, Count] | None = None


class Change(Part, frozen=True, kw_only=True):
    """One change of the machine: files and what was in them, by control.

    In JSON `control` is called what, and `value` asked: records on disk have these names.

    Attributes:
        control: name of the one that was set.
        value: what it was set to.
        put_back: whether it was put back; None while it stands.
    """

    control: str = field(name="what")
    value: str = field(name="asked")
    before: dict[str, str]
    written: dict[str, str]
    put_back: bool | None


class Turn(Part, frozen=True, kw_only=True):
    """A worker's place in a run of engines side by side: round and place from 1."""

    round: Count
    place: Count
    seed: Count


class Place(Part, frozen=True, kw_only=True):
    """Where one of several processes runs: see `worker.ranks.places`."""

    host: str
    boot: str
    network_namespace: str
    interface: str | None
    cpus: list[Count]
    threads: Count
