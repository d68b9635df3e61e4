"""The temperature of the CPU, by the kernel's sensors. Standard library only.

Formats: Linux's Documentation/hwmon/sysfs-interface.rst and driver-api/thermal/sysfs-api.rst.
"""

from __future__ import annotations

import re
from pathlib import Path

from cputrain.machine import reading

CHIPS = {
    "coretemp": "Package id",
    "k10temp": "Tdie",
    "zenpower": "Tdie",
    "cpu_thermal": "",
}
"""hwmon's name of a CPU's sensor -> how the label of the whole package begins."""

ZONES = re.compile(r"x86_pkg_temp|cpu.*thermal|soc.*thermal", re.IGNORECASE)
"""Types of thermal zones that are the CPU."""


def cpu_celsius(root: Path = reading.ROOT) -> float:
    """The hottest package. Raises Unknown; a virtual machine has no sensor mostly."""
    readings = [*_hwmon(root), *_zones(root)]
    if not readings:
        raise reading.Unknown("no sensor of the CPU under /sys/class/hwmon or /sys/class/thermal")
    return max(readings) / 1000


def _hwmon(root: Path) -> list[int]:
    """Thousandths of a degree of each chip's package, or of all its inputs where none is named."""
    readings: list[int] = []
    for folder in root.glob("sys/class/hwmon/hwmon[0-9]*"):
        name = f"/{folder.relative_to(root)}"
        try:
            label = CHIPS.get(reading.text(root, f"{name}/name"))
        except reading.Unknown:
            continue
        if label is None:
            continue
        inputs: dict[str, int] = {}
        for file in folder.glob("temp[0-9]*_input"):
            try:
                inputs[file.name.removesuffix("_input")] = reading.number(
                    root, f"{name}/{file.name}"
                )
            except reading.Unknown:
                continue  # a sensor that gives nothing at the moment
        package = [value for key, value in inputs.items() if _label(root, name, key, label)]
        readings += package or inputs.values()
    return readings


def _label(root: Path, chip: str, key: str, wanted: str) -> bool:
    try:
        return reading.text(root, f"{chip}/{key}_label").startswith(wanted)
    except reading.Unknown:
        return False


def _zones(root: Path) -> list[int]:
    readings = []
    for folder in root.glob("sys/class/thermal/thermal_zone[0-9]*"):
        name = f"/{folder.relative_to(root)}"
        try:
            if ZONES.search(reading.text(root, f"{name}/type")):
                readings.append(reading.number(root, f"{name}/temp"))
        except reading.Unknown:
            continue  # a zone that is switched off gives an error
    return readings
