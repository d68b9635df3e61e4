"""What can be set on a whole machine: each control reads, writes and restores the kernel's files.

Nothing here is written unless `control.is_allowed`. The watchdog, and what it imports, is standard
library only: it runs without site-packages.
"""
