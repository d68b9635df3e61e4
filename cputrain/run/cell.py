"""One cell in one asv process: its worker, its clock and its run record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from msgspec import structs

from cputrain import paths
from cputrain.atomic import remove_left
from cputrain.experiment import Experiment
from cputrain.record.answers import Finished, Sampled
from cputrain.record.cell import CellKey
from cputrain.record.files import RecordError
from cputrain.record.process import Turn
from cputrain.record.sample import Sample
from cputrain.run import measured, pairs, recording, references
from cputrain.run.beside import Beside
from cputrain.run.conductor.protocol import Started
from cputrain.run.failed import CellFailed
from cputrain.run.recorded_cell import RecordedCell
from cputrain.worker import saved
from cputrain.worker.blocks import Side


class CellRun(RecordedCell):
    """Runs the samples of one cell and keeps what they left.

    Args:
        key: the cell.
        experiment: what it runs.
        start: values of the suite's cell whose saved model fine-tuning starts from.
        turn: of a run of engines side by side; goes to the record.
        reference: what runs beside it, the baseline of its suite; None where nothing does.
        baseline: the cell that the reference runs as.
        measures_again: also where another cell of this pass has run the same.

    Attributes:
        clock_s: grows by the median step time of each sample.
        wanted: samples of its worker, the last of which ends it.
    """

    def __init__(
        self,
        key: CellKey,
        experiment: Experiment,
        start: tuple[object, ...] | None = None,
        turn: Turn | None = None,
        reference: Experiment | None = None,
        baseline: CellKey | None = None,
        measures_again: bool = False,
    ) -> None:
        super().__init__(key, experiment, turn, reference)
        self.clock_s = 0.0
        self.wanted = self.experiment.budget.samples
        self.beside = Beside(self.session, self.experiment, self.reference_of)
        self.measures_again, self.baseline = measures_again, baseline
        self._replayed: Iterator[Sample] | None = None
        self._keeps_model = True
        self.start = self.folder.with_name(paths.cell_name(start or key.values)) / saved.MODEL

    def why_no_start(self) -> str | None:
        """Why the saved model that this cell starts from is not there; None where it is."""
        if self.experiment.training.fine_tuning == "scratch" or self.start.exists():
            return None
        return (
            f"{self.start} is not there to start from: run the whole suite {self.key.suite} first"
        )

    def begin(self, fewer: bool) -> int:
        """Have a worker that is warm, or what this pass has measured of the same; `wanted`.

        Args:
            fewer: whether fewer samples than the budget has will do, by how long steps take.

        Raises:
            CellFailed: the worker gave no number. The run record says why.
        """
        with self._failing():
            if not self._take_over():
                self._start()
                self.wanted = self.beside.fitting(self.wanted, fewer)
        return self.wanted

    def _start(self) -> None:
        """A fresh worker beside the reference, which leaves a record of its own when it is new."""
        remove_left(self.folder)
        keeps_none = recording.request(self.session, self.folder, keeps_model=False)
        if self.reference_of is not None:
            self.set_machine("reference")
        if (reference := self.beside.refer(keeps_none)) is not None:
            counts = reference.ready.counts
            self.record = self.record.but(reference=reference.worker, reference_counts=counts)
            if reference.proof is not None:
                self.reference_s = reference.proof.so_far.training_s
                self._save_reference(reference, reference.proof)
        self.set_machine("cell")
        self._keeps_model = self.key.is_baseline or recording.has_room(self.session)
        request = recording.request(self.session, self.folder, self._keeps_model)
        if self.experiment.training.fine_tuning != "scratch":
            request = structs.replace(request, start=str(self.start))
        started = self.beside.start(request)
        cached = self.beside.code_was_cached
        self.record = self.record.with_ready(started.ready, started.placement)
        self.record = self.record.but(forked=started.forked, code_was_cached=cached)

    def _save_reference(self, started: Started, proof: Finished) -> None:
        assert self.reference_of is not None
        cached, wall_s = self.beside.reference_code_was_cached, time.monotonic() - self.started
        record = recording.opened(self.session, self.reference_of, id=started.worker)
        record = references.proven(record, started, proof, cached, wall_s)
        references.save(self.folder, self.baseline or self.key, record)

    def sample(self) -> None:
        """Take one sample, in a fresh worker where there is none; its step time joins the clock.

        Beside a reference it is a pair of blocks, of which the clock has the cell's own.

        Raises:
            CellFailed: the worker gave no number. The run record says why.
        """
        with self._failing():
            if self._replayed is None and self.beside.worker is None:
                if self.record.samples:
                    self.record = self.opened()  # asv asked for more samples than are wanted
                    self._start()
                elif not self._take_over():
                    self._start()
            if self._replayed is not None:
                self.clock_s += next(self._replayed).median_s
                return
            if self.reference_of is None:
                self._add(self._block("cell"))
            else:
                self._pair()

    def _pair(self) -> None:
        taken = pairs.take(self.record, self.wanted, self._block)
        self._add(taken.own)
        every = [*self.record.pairs, taken.pair]
        self.record = self.record.but(pairs=every, spoilt_pairs=taken.spoilt)

    def _take_over(self) -> bool:
        """Have what this pass has measured of the same already, if it has, as this cell's."""
        if self.turn is not None:  # each turn of engines side by side is a measurement
            return False
        others = self.reference_of is not None and not self.measures_again
        folder = measured.earlier(self.session, self._done(), others)
        if folder is None:
            return False
        worker = recording.repeated(self.record, folder, self.folder)
        if worker is None or worker.experiment["budget"]["samples"] != self.wanted:
            return False
        if folder != self.folder:
            measured.take_over(self.folder / saved.MODEL, folder / saved.MODEL)
        self.record = worker
        self.measures, self._replayed = False, iter(worker.samples)
        self.wanted = len(worker.samples)
        self.close("ok", None)
        return True

    def _done(self) -> measured.Done:
        """What this cell leaves in the list of those that are measured."""
        beside = "" if self.reference_of is None else self.reference_of.identity
        return self.experiment.identity, beside, str(self.folder)

    def _block(self, side: Side) -> Sampled:
        self.set_machine(side)
        return self.beside.block(side)

    def _add(self, sampled: Sampled) -> None:
        """Have a block among the samples, and on asv's clock."""
        self.record = self.record.with_sample(sampled)
        self.clock_s += sampled.sample.median_s

    def settle(self) -> None:
        """Write the run record; after the last sample also end the worker."""
        if self.beside.worker is None:
            return
        with self._failing():
            if len(self.record.samples) < self.wanted:
                self.save()
                return
            finished, left_over = self.beside.finish()
            self.record = self.record.with_proof(finished).but(left_over=left_over)
            if not self._keeps_model:
                self.record = self.record.but(note=recording.NO_ROOM)
            self.machine.require()
            self.close("ok", None)
            if self.turn is None:
                measured.note(self.session, self._done())

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except CellFailed as failure:
            self.beside.end()
            self.close(failure.status, failure.reason)
            raise
        except (OSError, RecordError) as error:  # no worker could be started, no record written
            self.beside.end()
            self.close("failed", str(error))
            raise
