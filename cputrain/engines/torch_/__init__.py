"""The torch engine, one file for each part of it."""
