"""Plots and the page for people."""
