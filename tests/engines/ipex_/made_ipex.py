"""IPEX's engine and others to hold it against."""

from settled import SIZES, settled

from cputrain import engines
from cputrain.model import initial

BASE = settled(engine="ipex")
WIDER = {"n_layer": 2, "n_embd": 48, "n_head": 4, "seq_len": 40, "batch_size": 2}
SHAPES = {
    "small": SIZES,
    "odd": {"n_layer": 1, "n_embd": 30, "n_head": 3, "seq_len": 77, "batch_size": 2},
    "one token": {"n_layer": 1, "n_embd": 8, "n_head": 1, "seq_len": 1, "batch_size": 6},
    "untied, windows": WIDER | {"tied": False, "attention": "local", "window": 8},
}
SMALL = BASE.but(**SHAPES["small"])
KERNELS = {"plain": False, "oneDNN": True}


def built(experiment, **changes):
    """The engine of an experiment with some fields changed, and the initial weights."""
    return engines.build(experiment.but(**changes), initial.initial_weights(experiment))


def reference(experiment, **changes):
    """NumPy's engine on the same work in fp32."""
    numpy = {"engine": "numpy", "attention_backend": "manual", "precision": "fp32"}
    return built(experiment, **{**numpy, "auto_kernel_selection": False, **changes})
