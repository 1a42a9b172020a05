"""The worked example of docs/digest.md, in which no part is empty."""

import json
import re
from pathlib import Path

from records.json import from_json
from replay.image.metadata import MetadataImage
from tests.replay.builders import image_of

_DOCUMENT = (Path(__file__).parents[3] / "docs" / "digest.md").read_text()


def documented_block(name: str) -> list[str]:
    """Return the lines of a code block."""
    (found,) = re.findall(rf"^```{name}\n(.*?)^```$", _DOCUMENT, re.MULTILINE | re.DOTALL)
    return str(found).splitlines()


def documented_image() -> MetadataImage:
    """Return the image after the documented records."""
    lines = [json.loads(line) for line in documented_block("json")]
    return image_of(*(from_json(line["type"], line["data"]) for line in lines))
