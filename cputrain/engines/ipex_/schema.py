"""What IPEX shows of a step, as checks read it and records keep it. Standard library and msgspec.

It is made in `IpexEngine.evidence`.
"""

from __future__ import annotations

from cputrain.engines.torch_.schema import TorchEvidence
from cputrain.record.part import Count, Part


class IpexState(Part, frozen=True, kw_only=True):
    """IPEX of itself.

    Attributes:
        packed: linear layers whose weights lie in oneDNN's blocks.
        isa, onednn_isa: instruction sets of its own code and of its oneDNN.
        fp32_math_mode: the rounding of fp32 products.
        auto_kernel_selection: whether oneDNN is chosen for fp32 layers.
    """

    packed: Count
    isa: str
    onednn_isa: str
    fp32_math_mode: str
    auto_kernel_selection: bool


class IpexEvidence(TorchEvidence, frozen=True, kw_only=True):
    """As torch's.

    Attributes:
        ipex: its layers and readings.
    """

    ipex: IpexState
