"""Sides that differ in the packages that their workers run on: `--stack`."""

from __future__ import annotations

from collections.abc import Sequence

from cputrain import paths
from cputrain.errors import UsageError
from cputrain.record.releases import ReleaseSide
from cputrain.run import recording
from cputrain.run.session import Session
from cputrain.sweep import asvenv, plan
from cputrain.sweep.progress import Progress
from cputrain.sweep.releases import chosen, environment, requirements
from cputrain.sweep.releases.chosen import Chosen
from cputrain.sweep.releases.sides import Side

FILE = "requirements.txt"


class Packages:
    """The working tree's code on several sets of packages (see `sides.Source`).

    Args:
        stacks: what each `--stack` says; the first is the reference.

    Raises:
        UsageError: one of them cannot be, or they are the same.
    """

    def __init__(self, stacks: Sequence[str]) -> None:
        self.text = (paths.PROJECT / FILE).read_text()
        known = requirements.pins(self.text)
        if len(stacks) < 2:
            raise UsageError(
                f"--stack {stacks[0]}: beside what? Give --stack twice or more; {requirements.HERE}"
                " is requirements.txt as it is"
            )
        self.labels = [" ".join(words.split()) for words in stacks]
        self.versions = [requirements.stack_versions(words, known) for words in stacks]
        self.wanted = [known | versions for versions in self.versions]
        for place, wanted in enumerate(self.wanted):
            if wanted in self.wanted[:place]:
                first = self.labels[self.wanted.index(wanted)]
                raise UsageError(f"--stack {self.labels[place]} is the same as --stack {first}")

    def choose(self, regexes: Sequence[str] | None) -> tuple[Chosen, list[plan.Planned]]:
        """See `sides.Source`."""
        known, broken = plan.survey()
        plan.refuse(broken, regexes)
        planned = chosen.suites(known, regexes)
        differing = {
            name for name in self.wanted[0] if len({wanted.get(name) for wanted in self.wanted}) > 1
        }
        engines = chosen.touched(differing)
        cells = chosen.chosen(planned, len(self.labels), engines, is_named=bool(regexes))
        return cells, chosen.only(planned, cells.cells)

    def sides(self, asv: asvenv.Asv, session: Session, progress: Progress) -> list[Side]:
        """See `sides.Source`; all are built before one is used."""
        head, dirty = recording.commit()
        made = []
        for label, versions in zip(self.labels, self.versions, strict=True):
            side_asv = self._asv(asv, versions)
            if isinstance(side_asv, environment.Release):
                side_asv.make(label, session.offline, progress)
            python = side_asv.python()
            installed = environment.read_back(python, paths.PROJECT)
            wanted = requirements.pins(requirements.replaced(self.text, versions))
            required = {
                name: wanted[name] for name in wanted if name in versions or name in installed
            }
            environment.require(label, required, installed, python.parent.parent)
            side = ReleaseSide(label=label, installed=installed, commit=head, dirty=dirty)
            made.append(Side(side, python))
        return made

    def _asv(self, asv: asvenv.Asv, versions: dict[str, str]) -> asvenv.Asv:
        """The main environment where its pins are exactly these versions."""
        known = requirements.pins(self.text)
        other = {name: version for name, version in versions.items() if version != known[name]}
        if not other:
            return asv
        return environment.Release(asv.machine, requirements.replaced(self.text, other))
