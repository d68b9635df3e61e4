"""The one schema: what a worker, a cell and a session leave behind, written and read by the same
classes (msgspec Structs). A room that asv's processes import: it needs no framework."""
