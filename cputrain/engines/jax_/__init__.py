"""The JAX engine."""

from cputrain.engines.jax_.engine import build as build
