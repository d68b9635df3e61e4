"""What of the files that decide what is measured is not committed, by its content."""

from __future__ import annotations

import hashlib
import os

from cputrain import paths
from cputrain.run.recording import MEASURES, git


def changes() -> str | None:
    """A hash of how these files differ from the commit; None where none does, or without git.

    Their names, as records have them, do not tell one edit of a file from the next.
    """
    changed = git("diff", "HEAD", "--binary", "--no-ext-diff", "--no-textconv", "--", *MEASURES)
    new = git("ls-files", "--others", "--exclude-standard", "-z", "--", *MEASURES)
    if not changed and not new:
        return None
    digest = hashlib.sha256(changed or b"")
    for name in sorted((new or b"").split(b"\0")[:-1]):
        path = paths.PROJECT / os.fsdecode(name)
        content = path.read_bytes() if path.is_file() else b""  # else a repository, or a dead link
        digest.update(b"%s\0%d\0%s" % (name, len(content), content))
    return digest.hexdigest()
