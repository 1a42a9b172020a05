"""Builds the site with MkDocs; whatever it warns of, such as a broken link, fails."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs_console import ROOT
from tests.site.source import write_source

CONFIG = ROOT / "docs/mkdocs.yml"


class SiteError(Exception):
    """The generator warned, or failed."""


def build_site(directory: Path) -> None:
    """Write the site into a directory, instead of what is there.

    Raises:
        SiteError: With the generator's warnings.
    """
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "source"
        source.mkdir()
        write_source(source)
        environment = {**os.environ, "SITE_SOURCE": str(source), "NO_MKDOCS_2_WARNING": "1"}
        words = ("build", "--strict", "--config-file", str(CONFIG))
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", *words, "--site-dir", str(directory.resolve())],
            capture_output=True,
            text=True,
            env=environment,
        )
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if not line.startswith("INFO")]
        raise SiteError("\n".join(told))
