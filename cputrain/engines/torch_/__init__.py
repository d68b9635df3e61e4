"""The torch engine, one file for each part of it."""

from cputrain.engines.torch_.engine import build as build
