"""As the torch engine's: IPEX changes the layout of the optimizer's state, not what it is."""

from __future__ import annotations

from cputrain.engines.torch_.long_run import LongRun as LongRun
