"""What asv 0.6.6's pages load from elsewhere, and the packages of npm's registry that have it.

Every package is pinned by npm's own hash of it, and every file by one of ours. jQuery, orderBars,
md5 and Bootstrap are the bytes that asv's page asks CDNs for. flot is the same release, as it was
written and not minified. Of the table sorter the registry has 1.1.3 only, where asv asks for 1.0.1.
"""

from __future__ import annotations

from typing import NamedTuple

JQUERY = "https://code.jquery.com/"
CDNJS = "https://cdnjs.cloudflare.com/ajax/libs/"
JSDELIVR = "https://cdn.jsdelivr.net/npm/"
REGISTRY = "https://registry.npmjs.org/"
"""As lock files name it; npm puts the registry that it is set to in its place."""


class Package(NamedTuple):
    """One of npm's registry; `integrity` is npm's hash of its archive."""

    name: str
    version: str
    integrity: str


class Asset(NamedTuple):
    """A file that asv's page loads.

    Attributes:
        url: that the page names.
        package: which has it.
        path: in the package.
        sha256: of the file, in hexadecimal digits.
    """

    url: str
    package: str
    path: str
    sha256: str

    @property
    def name(self) -> str:
        """Of the file beside the pages."""
        return self.path.rpartition("/")[2]


PACKAGES = (
    Package(
        "jquery",
        "3.3.1",
        "sha512-Ubldcmxp5np52/ENotGxlLe6aGMvmF4R8S6tZjsP6Kns"
        "axd/xp3Zrh50cG93lR6nPXyUFwzN3ZSOQI0wRJNdGg==",
    ),
    Package(
        "flot",
        "0.8.3",
        "sha512-xg2otcTJDvS+ERK+my4wxG/ASq90QURXtoM4LhacCq0j"
        "QW2jbyjdttbRNqU2cPykrpMvJ6b2uSp6SAgYAzj9tQ==",
    ),
    Package(
        "flot-orderbars",
        "1.0.0",
        "sha512-Jv51fvzevUjNXEeozpwEKfPjhiZhfiJddv0WHjduUTCm"
        "SF+7T5K7C9c9Y1wIVmUhDBv5fLMjgbwKecT0GIKPZA==",
    ),
    Package(
        "stupid-table-plugin",
        "1.1.3",
        "sha512-2Vk7XouQPxUQPRe9w0Fu7ZZ8kHLK7rDoLMsCgtKxRNJ7"
        "f4dSOGvW9CkHsq5wD6QsaEnWoyLBYH3xOEsrK3yWBg==",
    ),
    Package(
        "blueimp-md5",
        "2.19.0",
        "sha512-DRQrD6gJyy8FbiE4s+bDoXS9hiW3Vbx5uCdwvcCf3zLH"
        "L+Iv7LtGHLpr+GZV8rHG8tK766FGYBwRbu8pELTt+w==",
    ),
    Package(
        "bootstrap",
        "3.1.1",
        "sha512-TAzqS8E/ISpVHP29gYhy+1NSV+FJwApDVQhDfgLYsIuU"
        "DJiqJzH2DfORN5tiu+Ie2iBLrzEG34t4Rf465cigqg==",
    ),
)
ASSETS = (
    Asset(
        JQUERY + "jquery-3.3.1.min.js",
        "jquery",
        "dist/jquery.min.js",
        "160a426ff2894252cd7cebbdd6d6b7da8fcd319c65b70468f10b6690c45d02ef",
    ),
    Asset(
        CDNJS + "flot/0.8.3/jquery.flot.min.js",
        "flot",
        "jquery.flot.js",
        "b7b931f273c38b1277b9c6c1f4e05c4ec09885a487bddaf3279e2d7e49a38e12",
    ),
    Asset(
        CDNJS + "flot/0.8.3/jquery.flot.time.min.js",
        "flot",
        "jquery.flot.time.js",
        "a582c832adc7138a6b05aaf61f16ebac274701f1be4afea77e739a1c34b9c41a",
    ),
    Asset(
        CDNJS + "flot/0.8.3/jquery.flot.selection.min.js",
        "flot",
        "jquery.flot.selection.js",
        "e6c85f6c1ebe4b4da29d8ae238c7c5060283f05f7ef054f6b91817d02c092918",
    ),
    Asset(
        CDNJS + "flot/0.8.3/jquery.flot.categories.min.js",
        "flot",
        "jquery.flot.categories.js",
        "6e81664b28ea795c734906f4aa15614640a75ac7fbd399a7fb9084040698351a",
    ),
    Asset(
        JSDELIVR + "flot-orderbars@1.0.0/js/jquery.flot.orderBars.js",
        "flot-orderbars",
        "js/jquery.flot.orderBars.js",
        "39735b4f46f96ff4e082572401f47c55a2767b366fd1d1e821e44a8d830a12bf",
    ),
    Asset(
        CDNJS + "stupidtable/1.0.1/stupidtable.min.js",
        "stupid-table-plugin",
        "stupidtable.min.js",
        "4642380f28ebe9ed7cac251793b281ef8620c4386205d92788f9b12f5cceb4e0",
    ),
    Asset(
        CDNJS + "blueimp-md5/2.19.0/js/md5.min.js",
        "blueimp-md5",
        "js/md5.min.js",
        "64d7ded388c562e4bde9e58ce205e5fa01b9734fcd434d496eb7b4fbfe9b927d",
    ),
    Asset(
        JSDELIVR + "bootstrap@3.1.1/dist/js/bootstrap.min.js",
        "bootstrap",
        "dist/js/bootstrap.min.js",
        "898d05a17f2cfc5120ddcdba47a885c378c0b466f30f0700e502757e24b403a1",
    ),
    Asset(
        JSDELIVR + "bootstrap@3.1.1/dist/css/bootstrap.min.css",
        "bootstrap",
        "dist/css/bootstrap.min.css",
        "e9503448692b738dd260fbd7f7cabf2e11f09b600fa97e6eb3a56eba5b1a7e9b",
    ),
)


def package() -> dict[str, object]:
    """package.json: what is asked for, each in one version."""
    return {"name": "cputrain-asv-assets", "version": "1.0.0", "private": True} | _dependencies()


def lock() -> dict[str, object]:
    """package-lock.json: what `npm ci` installs and nothing else, each with its hash."""
    root = {"name": "cputrain-asv-assets", "version": "1.0.0"}
    each: dict[str, object] = {
        f"node_modules/{name}": {
            "version": version,
            "resolved": f"{REGISTRY}{name}/-/{name}-{version}.tgz",
            "integrity": integrity,
        }
        for name, version, integrity in PACKAGES
    }
    packages = {"": root | _dependencies(), **each}
    return {**root, "lockfileVersion": 3, "requires": True, "packages": packages}


def _dependencies() -> dict[str, object]:
    return {"dependencies": {name: version for name, version, _ in PACKAGES}}
