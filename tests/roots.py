"""Where tests write: folders of their own."""

from cputrain import environ, paths


def take_root(patch, root):
    """Have data, output and results in another folder, as all processes that are started."""
    for name in ("DATA", "OUTPUT", "RESULT"):
        patch.setattr(paths, name, root / name.lower())
    patch.setattr(paths, "STATE", root / ".asv")
    patch.setattr(paths, "ROOT", root)
    patch.setenv(environ.ROOT, str(root))
    patch.setenv(environ.LOCK, str(root / "lock"))
