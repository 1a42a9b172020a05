"""The picture of `benchmarks.placement`: leaders and replicas of each broker, a panel per cluster.

The SVG is written directly: it has only bars and labels, and nothing else needs a drawing library.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.placement_simulation import Outcome

_PANEL_WIDTH, _PANEL_HEIGHT = 300, 110
_LEFT, _TOP, _GAP = 20, 50, 50
_COLORS = {"leaders": "#1f77b4", "replicas": "#c9d9ea"}


def draw(outcomes: Sequence[Outcome], directory: Path) -> Path:
    """Write `placement.svg` into a directory, and return its path."""
    rows = [list(group) for _, group in groupby(outcomes, _cluster)]
    columns = max(map(len, rows))
    width = 2 * _LEFT + columns * (_PANEL_WIDTH + _GAP)
    height = _TOP + len(rows) * (_PANEL_HEIGHT + _GAP)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="15">Replicas (light) and leaders (dark) on each '
        "broker; the line is the mean of the replicas</text>",
    ]
    for row, of_cluster in enumerate(rows):
        highest = max(max(outcome.replicas) for outcome in of_cluster)
        for column, outcome in enumerate(of_cluster):
            x = _LEFT + column * (_PANEL_WIDTH + _GAP)
            y = _TOP + row * (_PANEL_HEIGHT + _GAP)
            lines.extend(_panel(outcome, x, y, highest))
    lines.append("</svg>")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "placement.svg"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _panel(outcome: Outcome, x: int, y: int, highest: int) -> Iterator[str]:
    racks = f"{outcome.brokers} brokers" + (", racks" if outcome.racks else "")
    title = f"{outcome.placement}: {racks}" + (", more join half way" if outcome.joining else "")
    yield f'<text x="{x}" y="{y}">{escape(title)}</text>'
    bar = _PANEL_WIDTH / len(outcome.replicas)
    bottom = y + 10 + _PANEL_HEIGHT
    for what, counts in (("replicas", outcome.replicas), ("leaders", outcome.leaders)):
        for n, count in enumerate(counts):
            height = _PANEL_HEIGHT * count / highest
            yield (
                f'<rect x="{x + n * bar:.1f}" y="{bottom - height:.1f}" width="{bar * 0.85:.1f}" '
                f'height="{height:.1f}" fill="{_COLORS[what]}"/>'
            )
    mean = sum(outcome.replicas) / len(outcome.replicas)
    level = bottom - _PANEL_HEIGHT * mean / highest
    yield (
        f'<line x1="{x}" x2="{x + _PANEL_WIDTH}" y1="{level:.1f}" y2="{level:.1f}" '
        'stroke="#d62728"/>'
    )


def _cluster(outcome: Outcome) -> tuple[int, bool, bool]:
    return outcome.brokers, outcome.racks, outcome.joining
