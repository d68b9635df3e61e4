"""The speed of the memory modules, from the firmware's tables (readable by root only).

Layout: SMBIOS reference specification (DMTF DSP0134), sections 6.1.2 and 7.18.
"""

from __future__ import annotations

from pathlib import Path

from cputrain.machine import reading

TABLES = "/sys/firmware/dmi/tables/DMI"
MEMORY_DEVICE = 17
SIZE, SPEED, CONFIGURED = 0x0C, 0x15, 0x20
UNKNOWN = (0, 0xFFFF)


def memory_speed(root: Path = reading.ROOT) -> str:
    """Speed that the modules run at, such as "3200 MT/s". Raises reading.Unknown."""
    try:
        table = (root / TABLES.lstrip("/")).read_bytes()
    except OSError as error:
        raise reading.Unknown(f"{TABLES}: {error.strerror}") from error
    speeds = {speed for record in _records(table, MEMORY_DEVICE) if (speed := _speed(record))}
    if not speeds:
        raise reading.Unknown(f"{TABLES}: no memory module tells its speed")
    return " and ".join(f"{speed} MT/s" for speed in sorted(speeds))


def _speed(record: bytes) -> int | None:
    """The configured speed, or the rated one; None for an empty slot."""
    if _word(record, SIZE) in UNKNOWN:
        return None
    for offset in (CONFIGURED, SPEED):
        if (speed := _word(record, offset)) not in UNKNOWN:
            return speed
    return None


def _word(record: bytes, offset: int) -> int:
    """Two bytes, little-endian; 0 beyond the end, which older tables reach earlier."""
    return int.from_bytes(record[offset : offset + 2], "little")


def _records(table: bytes, wanted: int) -> list[bytes]:
    """The formatted parts of the structures of one type: each ends with strings and two zeros."""
    records, at = [], 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        end = table.find(b"\0\0", at + length)
        if length < 4 or end < 0:
            break
        if kind == wanted:
            records.append(table[at : at + length])
        at = end + 2
    return records
