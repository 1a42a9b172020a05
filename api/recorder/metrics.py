"""The recorder's metrics in Prometheus' text format, and the listener that serves them."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from api.recorder.recorded_mirror import RecordedMirror

_HEAD_BYTES_MAX = 16 * 1024
_TIMEOUT_S = 10.0

Samples = Iterable[tuple[Mapping[str, str], float]]


class Metric(NamedTuple):
    """A metric: its name after `metalog_recorder_`, help, type, and samples by labels."""

    name: str
    help: str
    type: str
    samples: Callable[[RecordedMirror], Samples]


def _one(value: float | None) -> Samples:
    return () if value is None else (({}, value),)


def _lag(mirror: RecordedMirror) -> Samples:
    progress = mirror.progress
    if progress.high_watermark is None or progress.confirmed_end is None:
        return ()
    return _one(max(0, progress.high_watermark - progress.confirmed_end))


def _firing(mirror: RecordedMirror) -> Iterator[tuple[Mapping[str, str], float]]:
    if mirror.checks is None or mirror.settings.checks is None:
        return
    counts = dict.fromkeys(mirror.settings.checks.expect, 0)
    for each in mirror.checks.file.state.active:
        counts[each.check] = counts.get(each.check, 0) + 1
    for check, count in counts.items():
        yield {"check": check}, count


def _unchecked(mirror: RecordedMirror) -> Samples:
    end = mirror.progress.confirmed_end
    if mirror.checks is None or end is None:
        return ()
    return _one(max(0, end - mirror.checks.watch.next_offset))


def _jobs(value: Callable[..., float | None]) -> Callable[[RecordedMirror], Samples]:
    def samples(mirror: RecordedMirror) -> Iterator[tuple[Mapping[str, str], float]]:
        for job in () if mirror.upkeep is None else mirror.upkeep.jobs:
            found = value(job)
            if found is not None:
                yield {"job": job.name}, found

    return samples


METRICS = (
    Metric(
        "up",
        "1 while the quorum is followed, 0 while recording has stopped.",
        "gauge",
        lambda mirror: _one(
            mirror.recording.error is None and mirror.progress.answered_at is not None
        ),
    ),
    Metric(
        "stopped",
        "1 with the error that recording or checking stopped with.",
        "gauge",
        lambda mirror: [
            ({"task": task, "code": kept.code}, 1)
            for task, kept in (("recording", mirror.recording), ("checking", mirror.checking))
            if kept.error is not None
        ],
    ),
    Metric(
        "lag_records",
        "Offsets below the quorum's high watermark that the mirror lacks.",
        "gauge",
        _lag,
    ),
    Metric(
        "records_total",
        "Records written since the recorder began with the mirror.",
        "counter",
        lambda mirror: _one(mirror.progress.records),
    ),
    Metric(
        "end_offset",
        "End of the mirror, exclusive.",
        "gauge",
        lambda mirror: _one(mirror.progress.end_offset),
    ),
    Metric(
        "confirmed_end_offset",
        "Offset below which the mirror is final.",
        "gauge",
        lambda mirror: _one(mirror.progress.confirmed_end),
    ),
    Metric(
        "last_record_timestamp_seconds",
        "When the leader appended the last record that was read.",
        "gauge",
        lambda mirror: _one(mirror.progress.last_record_at),
    ),
    Metric(
        "last_answer_timestamp_seconds",
        "When a leader answered last.",
        "gauge",
        lambda mirror: _one(mirror.progress.answered_at),
    ),
    Metric(
        "gaps",
        "Gaps of the recording.",
        "gauge",
        lambda mirror: _one(mirror.progress.gaps),
    ),
    Metric("alerts_firing", "Alerts that last, by check.", "gauge", _firing),
    Metric(
        "alerts_waiting",
        "Notifications that a receiver has not taken yet.",
        "gauge",
        lambda mirror: _one(None if mirror.checks is None else mirror.checks.outbox.count),
    ),
    Metric(
        "unchecked_records",
        "Final offsets of the mirror that were not checked yet.",
        "gauge",
        _unchecked,
    ),
    Metric(
        "job_end_offset",
        "End of what the archive has, and start of what retention keeps.",
        "gauge",
        _jobs(lambda job: job.end_offset),
    ),
    Metric(
        "job_failures_total",
        "Runs of archive and retention that failed.",
        "counter",
        _jobs(lambda job: job.failed),
    ),
)


def metrics_text(mirrors: Iterable[RecordedMirror], *, loaded_at: float, is_loaded: bool) -> str:
    """Return the metrics of all mirrors.

    Args:
        loaded_at: When the recorder's current configuration was read, in seconds since 1970.
        is_loaded: False if the last attempt to reload the configuration failed.
    """
    mirrors = list(mirrors)
    lines = []
    for metric in METRICS:
        name = f"metalog_recorder_{metric.name}"
        lines += [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.type}"]
        lines += [
            f"{name}{_labels({'mirror': mirror.settings.name, **labels})} {float(value)!r}"
            for mirror in mirrors
            for labels, value in metric.samples(mirror)
        ]
    for name, text, number in (
        (
            "config_last_reload_successful",
            "0 if the configuration was refused at the last SIGHUP.",
            is_loaded,
        ),
        ("config_loaded_timestamp_seconds", "When the current configuration was read.", loaded_at),
    ):
        name = f"metalog_recorder_{name}"
        lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", f"{name} {float(number)!r}"]
    return "\n".join([*lines, ""])


def _labels(labels: Mapping[str, str]) -> str:
    escaped = (
        f'{name}="{value}"'
        for name, value in (
            (name, value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
            for name, value in labels.items()
        )
    )
    return "{" + ",".join(escaped) + "}"


async def serve_metrics(address: tuple[str, int], text: Callable[[], str]) -> asyncio.Server:
    """Serve GET /metrics, and /health, which is 200 while the process runs.

    Raises:
        OSError: the address is in use.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answer(head, text))
                await writer.drain()
        except (EOFError, OSError, TimeoutError, asyncio.LimitOverrunError):
            pass  # whoever asked is gone, or never asked
        finally:
            writer.close()

    host, port = address
    return await asyncio.start_server(answer, host, port, limit=_HEAD_BYTES_MAX)


def _answer(head: bytes, text: Callable[[], str]) -> bytes:
    method, _, rest = head.decode("latin-1").partition(" ")
    path = rest.partition(" ")[0].partition("?")[0]
    if method not in ("GET", "HEAD"):
        status, body = "405 Method Not Allowed", ""
    elif path == "/metrics":
        status, body = "200 OK", text()
    elif path == "/health":
        status, body = "200 OK", f"ok {time.time():.0f}\n"
    else:
        status, body = "404 Not Found", "the metrics are at /metrics\n"
    content = body.encode()
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/plain; version=0.0.4; charset=utf-8",
        f"Content-Length: {len(content)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if method == "HEAD" else content)
