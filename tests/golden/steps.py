"""The steps of docs/adding_a_record.md, applied to a copy of the packages."""

import re
from pathlib import Path

import msgspec

_STEP = re.compile(
    r"^`(?P<path>[\w./]+)`, "
    r"(?:(?P<how>a new file|at the end)|(?P<where>after|instead of) `(?P<anchor>[^\n]+)`):\n\n"
    r"```\w+\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Step(msgspec.Struct, frozen=True):
    """A block of text and where it goes; `anchor` is a whole line."""

    path: str
    how: str
    anchor: str
    text: str

    def apply(self, root: Path) -> None:
        """Change the file below a directory."""
        path = root / self.path
        if self.how == "a new file":
            assert not path.exists(), path
            path.write_text(self.text)
            return
        before = path.read_text()
        if self.how == "at the end":
            path.write_text(before + self.text)
            return
        assert before.count(f"{self.anchor}\n") == 1, f"{path} has no single line {self.anchor!r}"
        kept = f"{self.anchor}\n" if self.how == "after" else ""
        path.write_text(before.replace(f"{self.anchor}\n", kept + self.text))


def documented_steps(document: str) -> list[Step]:
    """Return the steps of the document in order."""
    return [
        Step(m["path"], m["how"] or m["where"], m["anchor"] or "", m["text"])
        for m in _STEP.finditer(document)
    ]
