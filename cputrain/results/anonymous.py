"""Takes out of records and results what tells who ran them, and where: folders and host names.

Records name the libraries that were mapped, by their whole paths, and processes that ran in ranks
by their hosts. The place of the project's folder becomes `CLONE`, a home `HOME`, a host "host-1"
and so on; what lies where every system has it, as /usr/lib, stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

CLONE = "/opt/cputrain"
HOME = "/opt/home"
SYSTEM = (
    *("/bin/", "/dev/", "/etc/", "/lib/", "/lib64/", "/proc/", "/sbin/", "/sys/", "/usr/"),
    *("/opt/_internal/", "/opt/rh/", "/project/.openblas/"),
    *(f"{CLONE}/", f"{HOME}/"),
)
"""Folders that tell nothing: every system's, those in which PyTorch's and NumPy's wheels were
built, and what is put in the place of others."""
_IN_CLONE = re.compile(r'"(/[^"\\]*?)/(?:\.asv|venv)/')
_HOMES = re.compile(r"(?<![\w.~-])/(?:home|Users)/[^/\"\s:]+|(?<![\w.~/-])/root(?=[/\"\s:])")
_HOST = re.compile(r'"host"\s*:\s*"([^"]*)"')
_OF_RANKS = re.compile(r"(\d machines? \()([^()\"]*)(\))")
_ABSOLUTE = re.compile(r"(?<![\w.~/<>*)\]-])/[A-Za-z_][\w.+-]*/[\w.+-]*")


@dataclass(frozen=True)
class Anonymous:
    """What is put in whose place.

    Attributes:
        clones: folders of the project, the longest first.
        hosts: names of hosts, in the order of their numbers.
    """

    clones: tuple[str, ...]
    hosts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str], known: Collection[Path]) -> Anonymous:
        """What such texts have to be without.

        Args:
            texts: JSON of records and results.
            known: folders of the project, beside those that the texts tell.
        """
        clones = {str(path) for path in known if len(path.parts) > 1}
        hosts: dict[str, None] = {}
        for text in texts:
            clones |= set(_IN_CLONE.findall(text))
            hosts |= dict.fromkeys(_HOST.findall(text))
        return cls(tuple(sorted(clones, key=len, reverse=True)), tuple(hosts))

    def text(self, text: str) -> str:
        """JSON without them."""
        for clone in self.clones:
            text = re.sub(rf"(?<![\w.~/-]){re.escape(clone)}(?=[/\"\s:])", CLONE, text)
        text = _HOMES.sub(HOME, text)
        text = _HOST.sub(lambda match: f'"host":"{self._host(match[1])}"', text)
        return _OF_RANKS.sub(self._ranks, text)

    def _ranks(self, label: re.Match[str]) -> str:
        return label[1] + ", ".join(map(self._host, label[2].split(", "))) + label[3]

    def _host(self, name: str) -> str:
        return f"host-{self.hosts.index(name) + 1}" if name in self.hosts else name


def telling(text: str) -> list[str]:
    """Paths and hosts in a text that tell where it comes from, each once."""
    places = [path for path in _ABSOLUTE.findall(text) if not f"{path}/".startswith(SYSTEM)]
    hosts = [name for name in _HOST.findall(text) if not re.fullmatch(r"host-\d+", name)]
    return list(dict.fromkeys([*places, *hosts]))
