"""The linear layers of the blocks, one kind for each precision."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn
from torch.nn import functional as F

from cputrain.engines.torch_ import onednn, quantized
from cputrain.experiment import Experiment
from cputrain.experiment.fields import refuse


class QuantizedLinear(nn.Linear):  # type: ignore[misc]
    """fp32 `weight` and `bias` that are trained; what is multiplied is rounded each time anew."""


class Int8Linear(QuantizedLinear):
    """q8: int8 forward, fp32 backward."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., n_in] -> [..., n_out]."""
        return quantized.int8_linear(x, self.weight, self.bias)


class Group4Linear(QuantizedLinear):
    """q4: weights on 16 levels in groups of 32, simulated in fp32."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., n_in] -> [..., n_out]."""
        return F.linear(x, quantized.straight_through(quantized.group4, self.weight), self.bias)


class BitLinear(QuantizedLinear):
    """bitnet: ternary weights and 8-bit activations, simulated in fp32.

    Without the norm that Ma et al. put inside this layer: the blocks' own stand before it.
    """

    def forward(self, x: Tensor) -> Tensor:
        """[..., n_in] -> [..., n_out]."""
        x = quantized.straight_through(quantized.int8_values, x)
        return F.linear(x, quantized.straight_through(quantized.ternary, self.weight), self.bias)


KINDS: dict[str, type[nn.Linear]] = {"q8": Int8Linear, "q4": Group4Linear, "bitnet": BitLinear}
"""By precision; all others start from torch's own layer (see `precision.prepare`)."""


def make(experiment: Experiment, n_in: int, n_out: int, bias: bool) -> nn.Module:
    """A layer [..., n_in] -> [..., n_out] with `weight` [n_out, n_in] and, if asked, `bias`.

    With matmul_backend = "onednn" it is `onednn.OneDnnLinear`.

    Raises:
        ExperimentError: precision = "q4", and n_in does not divide into groups of 32.
        EngineError: this torch has no way to oneDNN.
    """
    precision = experiment.training.precision
    if precision == "q4" and n_in % quantized.GROUP:
        rule = f"a layer with {n_in} inputs does not divide into groups of {quantized.GROUP}"
        refuse("precision", precision, rule)
    if experiment.runtime.matmul_backend == "onednn":
        onednn.require()
        return onednn.OneDnnLinear(n_in, n_out, bias=bias)
    return KINDS.get(precision, nn.Linear)(n_in, n_out, bias=bias)


def layers_of(model: nn.Module) -> Iterator[nn.Linear]:
    """The linear layers of a model's blocks."""
    return (layer for layer in model.h.modules() if isinstance(layer, nn.Linear))
