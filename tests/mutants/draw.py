"""Draws sites for mutations: the same for a seed, and nearly the same after a change of the
code.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.mutants.sites import Site, find_sites

PACKAGES = (
    "metadata_log",
    "metadata_log/files",
    "metadata_log/format",
    "metadata_log/reader",
    "metadata_log/recovery",
    "metadata_log/writer",
    "records/avro",
    "replay/image",
    "replay/loader",
    "controller/decisions",
    "controller/decisions/brokers",
    "controller/decisions/config_definitions",
    "controller/decisions/configs",
    "controller/decisions/context",
    "controller/decisions/features",
    "controller/decisions/namespaces",
    "controller/decisions/partitions",
    "controller/decisions/quotas",
    "controller/decisions/security",
    "controller/decisions/topics",
)
"""Folders, without the folders in them, or modules."""


def all_sites(root: Path, packages: Iterable[str] = PACKAGES) -> list[Site]:
    """Return every site of some packages of a source tree."""
    return [
        site
        for package in packages
        for path in _files(root, package)
        for site in find_sites(str(path.relative_to(root)), path.read_bytes())
    ]


def draw(sites: Iterable[Site], count: int, seed: int) -> list[Site]:
    """Return `count` sites in random order; a smaller draw is the beginning of a larger one.

    The position of each site in the order depends only on the site, so that a change elsewhere in
    the code replaces hardly any of them.
    """

    def place(site: Site) -> str:
        return hashlib.sha256(f"{seed} {site.key}".encode()).hexdigest()

    return sorted(sites, key=place)[:count]


def package_of(file: str, packages: Iterable[str] = PACKAGES) -> str:
    """Return the package that a file was drawn from."""
    return max((p for p in packages if file.startswith(p)), key=len)


def _files(root: Path, package: str) -> Iterator[Path]:
    module = root / f"{package}.py"
    yield from [module] if module.exists() else sorted((root / package).glob("*.py"))
