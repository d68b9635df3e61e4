"""The assets of asv's pages in the user's cache: put there by npm, checked at every use."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cputrain.errors import RunError
from cputrain.report.asv_pages import assets
from cputrain.report.asv_pages.assets import ASSETS, Asset
from cputrain.wording import one_line

NPM = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
ONCE = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")
"""Without a network npm tries for minutes otherwise."""
OFFLINE = re.compile(
    r"EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|ERR_SOCKET|ENOTCACHED"
)


def folder() -> Path:
    """Where they lie: its name changes with the packages and with their hashes."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(cache) if cache.startswith("/") else Path.home() / ".cache"
    digest = hashlib.sha256(repr((assets.PACKAGES, ASSETS)).encode()).hexdigest()[:12]
    return home / "cputrain" / f"asv-assets-{digest}"


def ready() -> dict[str, bytes]:
    """Every asset by its file name, from the cache; npm fetches them the first time.

    Raises:
        RunError: there is no npm or no network, or a file is another one than it has to be.
    """
    where = folder()
    if not where.exists():
        _install(where)
    return {asset.name: _checked(where, asset) for asset in ASSETS}


def _checked(where: Path, asset: Asset) -> bytes:
    """The content of an asset below the packages' folder."""
    path = where / "node_modules" / asset.package / asset.path
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    if hashlib.sha256(data).hexdigest() != asset.sha256:
        what = "is not the file that was pinned" if data else "is missing or empty"
        raise RunError(f"{path} {what}; delete {where} and publish again with a network")
    return data


def _install(where: Path) -> None:
    """Have npm install the packages beside the cache's folder, check them, and rename it."""
    if shutil.which("npm") is None:
        raise RunError(
            "the scripts of asv's pages are fetched once, by npm, and npm is not installed: on "
            "Debian apt install npm; or publish without --offline"
        )
    where.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".asv-assets.", dir=where.parent) as made:
        beside = Path(made) / "assets"
        beside.mkdir()
        _write(beside / "package.json", assets.package())
        _write(beside / "package-lock.json", assets.lock())
        done = subprocess.run(
            ["npm", *NPM, *ONCE],
            cwd=beside,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RunError(_reason(done.stderr))
        for asset in ASSETS:
            _checked(beside, asset)
        try:
            beside.rename(where)
        except OSError:  # somebody else has put it there meanwhile
            if not where.exists():
                raise


def _write(path: Path, content: Mapping[str, object]) -> None:
    path.write_text(json.dumps(content, indent=1))


def _reason(output: str) -> str:
    """What npm's errors mean, and what to do."""
    errors = [
        re.sub(r"^npm (error|ERR!) ?", "", line)
        for line in output.splitlines()
        if re.match("npm (error|ERR)", line)
    ]
    message = one_line(" ".join(errors[:3])) or "nothing"
    if "EINTEGRITY" in output:
        return (
            "npm's registry has another file than the one that was pinned, and nothing was kept; "
            f"see npm config get registry. It said: {message}"
        )
    if OFFLINE.search(output):
        return f"npm has no network, which the first --offline needs. It said: {message}"
    return f"npm could not install the scripts of asv's pages. It said: {message}"
