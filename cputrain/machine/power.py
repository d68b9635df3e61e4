"""Where the power comes from, and the firmware's profile for it: what laptops clock by.

Standard library only.
"""

from __future__ import annotations

from pathlib import Path

from cputrain.machine import reading

SUPPLIES = "sys/class/power_supply"
PROFILE = "/sys/firmware/acpi/platform_profile"
PLUGS = ("Mains", "USB", "Wireless")


def source(root: Path = reading.ROOT) -> str:
    """ "battery" where one discharges and no plug is online, else "mains".

    By the kernel's Documentation/ABI/testing/sysfs-class-power. Batteries of mice and the like,
    whose scope is "Device", do not count.

    Raises:
        reading.Unknown: the kernel lists no supplies, not even none.
    """
    if not (root / SUPPLIES).is_dir():
        raise reading.Unknown(f"/{SUPPLIES}: not there")
    plugged, discharging = False, False
    for folder in sorted(root.glob(f"{SUPPLIES}/*")):
        name = f"/{SUPPLIES}/{folder.name}"
        kind = _or_none(root, f"{name}/type")
        if _or_none(root, f"{name}/scope") == "Device":
            continue
        plugged |= kind in PLUGS and _or_none(root, f"{name}/online") not in (None, "0")
        discharging |= kind == "Battery" and _or_none(root, f"{name}/status") == "Discharging"
    return "battery" if discharging and not plugged else "mains"


def profile(root: Path = reading.ROOT) -> str:
    """The firmware's, as "low-power", "balanced" or "performance". Raises Unknown."""
    return reading.text(root, PROFILE)


def _or_none(root: Path, name: str) -> str | None:
    try:
        return reading.text(root, name)
    except reading.Unknown:
        return None
