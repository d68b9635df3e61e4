"""Which machine this is: a name from what it is, and which facts tell two machines apart."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cputrain.machine import allotted, cpu, facts, reading

WITHOUT = r"\((r|tm)\)|@.*|\bwith\b.*|\b(cpu|processor|\d+-core|(dual|quad|six|eight)-core)\b"
"""What a CPU's brand says and a name does not need."""

EXACT = ("cpu", "cpu_vendor", "cpu_family", "cpu_model", "cpu_stepping", "sockets", "cores")
"""Facts that are another machine's where they differ; kernel, microcode and firmware are not."""

MEMORY_SHARE = 0.1
"""Relative difference of memory above which it is another size: kernels keep some to themselves."""


def present(root: Path = reading.ROOT) -> dict[str, str | None]:
    """The static facts with the CPU's brand as asv calls it, "cpu"."""
    return {"cpu": _brand(root), **facts.static_facts(root)}


def machine_name(root: Path = reading.ROOT) -> str:
    """A readable name for this machine: brand, cores, four digits of who it is, and `allotted`.

    The same from run to run and after a new kernel; different for machines of one kind, for
    machines of several kinds that are clones of one disk image, and where fewer of its CPUs, or
    of their time, may be used.
    """
    return _named(root, f"{_who(root)} {_hardware(root)}")


def plain_name(root: Path = reading.ROOT) -> str:
    """The name by the machine's id alone, as it was given before; clones share it."""
    return _named(root, _who(root))


def differences(known: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What tells the machine of the `known` facts from the one of `now`, a phrase for each."""
    phrases = [
        f"{key} {known[key]} and not {now[key]}"
        for key in EXACT
        if known.get(key) and now.get(key) and _plain(known[key]) != _plain(now[key])
    ]
    before, after = (_gib(values.get("memory")) for values in (known, now))
    if before and after and abs(before - after) > MEMORY_SHARE * max(before, after):
        phrases.append(f"memory {known['memory']} and not {now['memory']}")
    return phrases


def _named(root: Path, who: str) -> str:
    plain = re.sub(WITHOUT, " ", (_brand(root) or platform.machine()).lower())
    slug = "-".join(re.findall(r"[a-z0-9]+", plain))[:32].strip("-") or platform.machine()
    try:
        cores = f"{cpu.online(root).physical_cores}c"
    except reading.Unknown:
        cores = f"{os.cpu_count()}t"  # threads, where the kernel tells no cores
    # Hashed with a word of our own, as machine-id(5) asks: the id itself is confidential.
    digits = hashlib.sha256(f"cputrain {who}".encode()).hexdigest()[:4]
    return f"{slug}-{cores}-{digits}{allotted.suffix(root)}"


def _brand(root: Path) -> str | None:
    try:
        return cpu.info(root, "model name", "Model", "Hardware")
    except reading.Unknown:
        return None


def _who(root: Path) -> str:
    """What tells this installation from all others."""
    for name in (
        "/etc/machine-id",
        "/var/lib/dbus/machine-id",
        "/sys/class/dmi/id/product_uuid",
    ):
        try:
            identifier = reading.text(root, name)
        except reading.Unknown:
            continue
        if identifier != "uninitialized":
            return identifier
    card = uuid.getnode()
    if card >> 40 & 1:
        # A group's address: Python found no card and has drawn it, in each process anew.
        return platform.node()
    return f"{platform.node()} {card:012x}"


def _hardware(root: Path) -> str:
    """What a clone of the disk has of its own and any user may read; stays with a new kernel."""
    now = present(root)
    words = [f"{key}={_plain(now[key])}" for key in EXACT if now.get(key)]
    return " ".join([*words, f"memory={_size(_gib(now['memory']))}", f"net={_network_card(root)}"])


def _size(gib: float | None) -> int | None:
    """MiB, rounded up to an eighth of a power of two: what is built in, and not what is left."""
    if not gib:
        return None
    step = math.ldexp(1, math.ceil(math.log2(gib)) - 3)
    return round(math.ceil(gib / step) * step * 1024)


def _network_card(root: Path) -> str | None:
    """The lowest built-in address of the wired cards that its maker gave it; None without one.

    Not those of virtual machines, which whole fleets may share, of docks on USB, and of wireless
    cards, which change.
    """
    addresses = []
    for card in sorted(root.glob("sys/class/net/*")):
        name = f"/{card.relative_to(root)}"
        try:
            address = reading.text(root, f"{name}/address").lower()
            if reading.text(root, f"{name}/addr_assign_type") != "0":
                continue
        except reading.Unknown:
            continue
        wired = (card / "device").exists() and not (card / "wireless").exists()
        if not wired or "/usb" in str(card.resolve()):
            continue
        if re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", address) and not int(address[:2], 16) & 3:
            addresses.append(address)
    return min(addresses, default=None)


def _plain(value: object) -> str:
    return " ".join(str(value).split())


def _gib(memory: object) -> float | None:
    """The number of a fact such as "23.5 GiB"; None where it is none."""
    match = re.fullmatch(r"(\d{1,9}(\.\d+)?) GiB", str(memory))
    return float(match[1]) if match else None
