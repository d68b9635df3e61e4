"""Numbers that a block keeps for its backward pass, by architecture. Standard library only."""

from __future__ import annotations

from cputrain.experiment import Experiment
from cputrain.experiment.activations import is_gated
from cputrain.experiment.rules import WITH_ATTENTION
from cputrain.model.attention_kept import attention_numbers
from cputrain.model.mixing import COUNTS


def block_numbers(experiment: Experiment) -> int:
    """Numbers kept by one block for one micro-batch; an estimate, as memory is.

    Masks of dropout are in it: torch keeps them as numbers on a CPU. With fine_tuning = "lora"
    the inputs of frozen layers are not needed; with "head" nothing is.
    """
    model, training = experiment.model, experiment.training
    tokens = training.batch_size * training.seq_len
    if training.fine_tuning == "head" or training.objective == "forward":
        return 0
    # With attention a mask after it and one after the MLP.
    masks = 0 if not model.dropout else 2 if model.architecture in WITH_ATTENTION else 1
    dropped = masks * tokens * model.n_embd
    if model.architecture in COUNTS:
        return int(COUNTS[model.architecture].kept(experiment)) + dropped
    # A gated activation: values, gates, what is made of the gates, the product.
    hidden = (4 if is_gated(model.activation) else 2) * model.hidden
    width = model.n_embd * (4 + (2 if model.architecture == "llama" else 0))
    if training.fine_tuning == "lora":
        hidden, width = hidden - model.hidden, width - model.n_embd
    return tokens * (width + hidden) + attention_numbers(experiment) + dropped
