"""What can be set on a whole machine: each control reads, writes and restores the kernel's files.

Nothing here is written unless `files.is_allowed`. Standard library only.
"""
