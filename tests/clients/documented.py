"""Tables of docs/clients.md, which tests compare with the output of the programs in this folder."""

from tests.docs_console import ROOT

_DOCUMENT = ROOT / "docs" / "clients.md"


def table(*first: str) -> dict[str, dict[str, str]]:
    """Return the table whose header begins with these cells: its rows by their first cell."""
    lines = _DOCUMENT.read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if _cells(line)[: len(first)] == list(first))
    header = _cells(lines[begin])
    rows = {}
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        name, *cells = _cells(line)
        rows[name] = dict(zip(header[1:], cells, strict=True))
    return rows


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
