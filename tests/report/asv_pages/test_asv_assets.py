"""The scripts of asv's pages: pinned, fetched once, kept, checked at each use."""

import shutil
from importlib.metadata import files
from pathlib import Path

import pytest

from cputrain.errors import RunError
from cputrain.report.asv_pages import assets, cached, offline

pytestmark = pytest.mark.tools
NOWHERE = "http://127.0.0.1:9/"
needs_npm = pytest.mark.skipif(
    shutil.which("npm") is None, reason="npm is not installed (Debian: apt install npm)"
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cached.folder()


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A command of that name which does what a test says, and nothing else of the name."""

    def does(script):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "npm").write_text(f"#!/bin/bash\n{script}\n")
        (folder / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return does


def asv_page():
    (index,) = [f for f in files("asv") or () if str(f).endswith("asv/www/index.html")]
    return Path(str(index.locate())).read_text()


def test_every_address_that_asv_s_page_loads_is_an_asset_and_no_other():
    assert sorted(offline.urls(asv_page())) == sorted(asset.url for asset in assets.ASSETS)


def test_pages_that_ask_for_more_are_refused_before_anything_is_changed(tmp_path):
    page = tmp_path / "index.html"
    page.write_text('<script src="https://elsewhere.org/new.js"></script>')
    with pytest.raises(RunError, match=r"elsewhere\.org/new\.js"):
        offline.make(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_without_npm_one_line_says_what_to_do(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match="apt install npm"):
        cached.ready()
    assert not cache.exists()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", "is missing"),
        ("mkdir -p node_modules/jquery/dist; echo x > node_modules/jquery/dist/jquery.min.js",
         "not the file that was pinned"),
        ("echo 'npm error code EINTEGRITY' >&2; exit 1", "file than the one that was pinned"),
        ("echo 'npm error nonsense' >&2; exit 1", "nonsense"),
    ],
)  # fmt: skip
def test_what_npm_does_wrong_is_one_line_and_nothing_is_kept(npm, cache, script, said):
    npm(script)
    with pytest.raises(RunError, match=said) as caught:
        cached.ready()
    assert "\n" not in str(caught.value) and not list(cache.parent.iterdir())


@needs_npm
def test_without_a_network_one_line_says_so(cache, monkeypatch):
    monkeypatch.setenv("npm_config_registry", NOWHERE)
    monkeypatch.setenv("npm_config_cache", str(cache.parent / "npm"))
    with pytest.raises(RunError, match="npm has no network"):
        cached.ready()
    assert not cache.exists()


@needs_npm
def test_what_was_fetched_once_needs_neither_npm_nor_a_network_and_is_checked(cache, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    kept = cached.folder()
    first = cached.ready()
    shutil.copytree(kept, cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.parent.parent))
    monkeypatch.setenv("PATH", "/nowhere")
    assert cached.ready() == first
    path = cache / "node_modules" / assets.ASSETS[0].package / assets.ASSETS[0].path
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(RunError, match=f"delete {cache}"):
        cached.ready()


@needs_npm
def test_a_package_that_is_another_one_is_refused_by_npm(cache, monkeypatch):
    wrong = [(name, version, "sha512-" + "A" * 86 + "==") for name, version, _ in assets.PACKAGES]
    monkeypatch.setattr(assets, "PACKAGES", wrong)
    with pytest.raises(RunError, match="another file than the one that was pinned"):
        cached.ready()
