"""Build the site: `python -m tests.site DIRECTORY`."""

import sys
from pathlib import Path

from tests.site.build import build_site

build_site(Path(sys.argv[1]))
