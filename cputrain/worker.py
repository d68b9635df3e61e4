"""The child process that runs one experiment: build, warm up, check, train and time, save.

It reads one JSON request from its standard input, then commands ({"do": "sample"},
{"do": "finish"}), and answers on the descriptor whose number is its argument. The end
of its input ends it. The request: experiment, cpus, threads (launch.Placement),
launched (time.monotonic at the start), folder (for the model), offline, model_cap_bytes.
"""

from __future__ import annotations

import faulthandler
import json
import os
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import Any

LAUNCH_MASK = os.sched_getaffinity(0)  # before any import that may bind threads

from cputrain import inforce, paths, timing  # noqa: E402
from cputrain.experiment import Experiment  # noqa: E402
from cputrain.machine.memory import peak_resident  # noqa: E402
from cputrain.machine.reading import Unknown  # noqa: E402
from cputrain.model import flops, memory, shapes  # noqa: E402

MAX_TRIES = 3
PAUSES_S = (1.0, 4.0)
"""Waits before a sample is repeated, so that a short disturbance is over by then."""
DISTURBED_SHARE = 0.05
"""Run-queue delay over wall time from which a sample counts as disturbed."""


class Worker:
    """Runs one experiment and answers on `descriptor`; see the module for the messages."""

    def __init__(self, request: dict[str, Any], descriptor: int) -> None:
        self.request = request
        self.descriptor = descriptor
        self.experiment = Experiment.from_json(request["experiment"])
        self.phases = {"start_s": time.monotonic() - request["launched"]}
        self.losses: list[float] = []
        self.training_s = 0.0

    def say(self, **message: Any) -> None:
        """Answer with one line of JSON."""
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.descriptor, data) :]

    def phase(self, name: str, what: str) -> _Phase:
        """Time a phase into the record, and tell the launcher what is going on."""
        self.say(phase=what)
        return _Phase(self.phases, name)

    def prepare(self) -> None:
        """Everything before the first sample; answers with the report, or raises."""
        inforce.require([inforce.launch_mask(self.request["cpus"], LAUNCH_MASK)])
        experiment, training = self.experiment, self.experiment.training
        with self.phase("import_s", "importing the engine"):
            from cputrain import engines

            engines.load(experiment.runtime.engine)
        with self.phase("data_s", "loading data"):
            from cputrain.data import batches, corpus, tokens

            text = corpus.load(paths.DATA, offline=self.request["offline"])
            ids = tokens.token_array(text, experiment.model.vocab_size, training.rows, paths.DATA)
            self.batches = batches.Batches(
                ids.ids, training.seq_len, training.batch_size, training.seed
            )
        with self.phase("build_s", "building the model"):
            from cputrain.model import initial

            self.initial = initial.initial_weights(experiment)
            self.engine = engines.build(experiment, self.initial)
        with self.phase("first_step_s", "in the first step"):
            self.train(1)
        with self.phase("warm_up_s", "warming up"):
            budget = experiment.budget
            warm = timing.warm_up(lambda: self.train(1), budget.warm_up_steps, budget.warm_up_s)
        with self.phase("check_s", "checking what is in force"):
            self.evidence = self.engine.evidence(self.batches.batch(0))
            checks = self.in_force()
            inforce.require(checks)
        work = flops.flops_per_step(experiment)
        self.say(
            ready=True,
            in_force=[check.to_json() for check in checks],
            readings=self.engine.readings(),
            phases=self.phases,
            warm_up_steps=len(warm.step_s),
            steady=warm.steady,
            counts={
                "n_params": shapes.n_params(experiment),
                "tokens_per_step": training.tokens_per_step,
                "flops_per_step": work.total,
                "flops_formula": work.formula,
                "memory_estimate_bytes": memory.memory_bytes(experiment).total,
            },
            data={
                "source": ids.source,
                "fingerprint": ids.fingerprint,
                "tokenizer": ids.tokenizer,
                "note": text.note,
            },
            versions={"python": platform.python_version(), **self.engine.versions()},
        )

    def in_force(self) -> list[inforce.Check]:
        """What can be read back while the worker is warm."""
        experiment, asked = self.experiment, self.request["threads"]
        return [
            inforce.launch_mask(self.request["cpus"], LAUNCH_MASK),
            inforce.thread_masks(self.request["cpus"]),
            *inforce.preloads(experiment.system.preload),
            *inforce.threads(experiment.runtime.engine, asked, self.engine.readings()),
            *inforce.attention(experiment, self.evidence.get("ops", {})),
            *inforce.compilation(experiment, self.evidence),
        ]

    def train(self, steps: int) -> list[float]:
        """Train `steps` steps on the next batches; the seconds of each."""
        from cputrain import gates

        ready = [self.batches.batch(len(self.losses) + i) for i in range(steps)]
        for batch in ready:
            gates.next_token(batch)
        upcoming = iter(ready)

        def step() -> None:
            self.losses.append(self.engine.train_step(next(upcoming)))
            self.engine.synchronize()

        step_s = timing.timed(step, steps)
        self.training_s += sum(step_s)
        return step_s

    def sample(self) -> None:
        """One sample: repeated while disturbed, at most MAX_TRIES times; answers with it."""
        from cputrain import gates
        from cputrain.machine import noise

        self.say(phase="training")
        system = self.experiment.system
        alone = self.request["threads"] <= len(self.request["cpus"])
        best: dict[str, Any] | None = None
        for tries in range(1, MAX_TRIES + 1):
            cpu_before, before = noise.cpu_time_by_thread(), noise.read()
            step_s = self.train(self.experiment.budget.steps)
            readings = noise.between(before, noise.read())
            busy = inforce.busy_threads(
                self.request["threads"],
                cpu_before,
                noise.cpu_time_by_thread(),
                exactly=system.threads is not None or system.cores is not None,
            )
            share = readings["run_queue_share"]
            # More threads than CPUs wait for one another: that is the experiment's own doing.
            disturbed = alone and share is not None and share > DISTURBED_SHARE
            disturbed = disturbed or bool(readings["throttled_s"])
            calmer = best is None or (share or 0) < (best["noise"]["run_queue_share"] or 0)
            if calmer or not disturbed:
                loss = self.losses[-len(step_s) :]
                best = {"step_s": step_s, "loss": loss, "noise": readings, "disturbed": disturbed}
                best["busy"] = busy.to_json()
            if not disturbed:
                break
            if tries < MAX_TRIES:
                time.sleep(PAUSES_S[tries - 1])
        assert best is not None
        gates.steps(len(self.losses), self.engine.steps_done)
        # `busy` is of the last try: threads do not come and go between tries.
        inforce.require([inforce.thread_masks(self.request["cpus"]), busy])
        self.say(**best, tries=tries, **self.so_far())

    def so_far(self) -> dict[str, Any]:
        """What a record holds at any time."""
        peak: dict[str, Any]
        try:
            peak = {"peak_rss_bytes": peak_resident()}
        except Unknown as unknown:
            peak = {"peak_rss_bytes": None, "peak_rss_bytes_reason": str(unknown)}
        return {
            **peak,
            "first_loss": self.losses[0],
            "steps_done": self.engine.steps_done,
            "training_s": self.training_s,
        }

    def finish(self) -> None:
        """Prove that the model trained, save it, answer."""
        from cputrain import gates

        self.say(phase="proving that the model trained")
        if self.experiment.runtime.compile != "eager":  # recompiled meanwhile?
            self.evidence = self.engine.evidence(self.batches.batch(0))
        inforce.require(self.in_force())
        weights = self.engine.weights()
        moved = gates.moved(self.initial, weights)
        gates.steps(len(self.losses), self.engine.steps_done)
        last_loss = self.engine.loss(self.batches.batch(0))
        gates.loss_fell(self.losses[0], last_loss)
        saved: dict[str, Any]
        with self.phase("save_s", "saving the model"):
            size = sum(array.nbytes for array in weights.values())
            cap = self.request["model_cap_bytes"]
            if size > cap:
                note = f"model of {size / 1e6:.0f} MB not saved: over the cap of {cap / 1e6:.0f} MB"
                saved = {"model_file": None, "note": note}
            else:
                saved = {"model_file": self.save(weights)}
        trained = {
            "steps_asked": len(self.losses),
            "steps_done": self.engine.steps_done,
            "parameters_moved": moved,
            "parameters": len(self.initial),
        }
        saved["last_loss"] = last_loss
        self.say(finished=True, trained=trained, **saved, **self.so_far(), phases=self.phases)

    def save(self, weights: dict[str, Any]) -> str:
        """Write the weights beside the run record; the file's name."""
        from safetensors.numpy import save

        from cputrain.atomic import write_bytes

        name = "model.safetensors"
        metadata = {"experiment": json.dumps(self.experiment.to_json())}
        write_bytes(Path(self.request["folder"]) / name, save(weights, metadata=metadata))
        return name


class _Phase:
    def __init__(self, phases: dict[str, float], name: str) -> None:
        self._phases, self._name = phases, name

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._phases[self._name] = time.perf_counter() - self._start


def _serve(worker: Worker) -> None:
    worker.prepare()
    for line in sys.stdin:
        if json.loads(line)["do"] == "sample":
            worker.sample()
        else:
            worker.finish()
            return


def _is_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or "can't allocate memory" in text


def main() -> int:
    """Serve one request; 1 where it failed, which the launcher has been told."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    faulthandler.enable()
    # Were memory to run out, the kernel should end this process and not asv.
    Path("/proc/self/oom_score_adj").write_text("1000")
    line = sys.stdin.readline()
    if not line:
        return 1
    worker = Worker(json.loads(line), descriptor)
    try:
        _serve(worker)
    except Exception as error:
        traceback.print_exc()
        status = "out of memory" if _is_memory(error) else "failed"
        first_line = str(error).strip().split("\n")[0]
        worker.say(failed=status, reason=f"{type(error).__name__}: {first_line}")
        return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # taking torch down in good order costs half a second and nobody needs it
