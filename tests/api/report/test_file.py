"""The report's file, without a browser: its content, and that it contains no secret."""

import json
import random
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from api.questions.host_mask import HostMask
from api.questions.past import Past
from api.questions.report import ShowReport, report_shown
from metadata_log.reader.log_reader import LogReader
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.browser import apart
from tests.replay.report.test_rebuilt_states import redacted
from tests.replay.report.unpacked import Rebuilt, Unpacked, packed_of

SECRET = "sup3r-secret"
HOSTS = ("kafka-1.internal.example", "10.11.12.13")


@pytest.fixture(scope="module")
def with_secrets(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with a password, a user, and host names in several places."""
    log = tmp_path_factory.mktemp("secrets") / "log"
    shutil.copytree(demo_log, log)
    password = log.parent / "password"
    password.write_text(f"{SECRET}\n")
    listeners = f"listeners=PLAINTEXT://{HOSTS[0]}:9092"
    commands = [
        ["configs", "set", "broker/1", f"ssl.keystore.password={SECRET}"],
        ["configs", "set", "broker/1", listeners],
        ["users", "create", "ann", "--password-file", str(password)],
        [
            *("acls", "create", "--principal", "User:a", "--operation", "all", "--cluster"),
            *("--host", HOSTS[1]),
        ],
    ]
    ran = [apart(run, [*command, "--log", str(log)]) for command in commands]
    assert ran == [0] * len(commands)
    return log


def everything(page: Path) -> str:
    """Return all texts in a file."""
    header = json.dumps(Unpacked(packed_of(page)).header)
    return re.sub(r'id="columns">[^<]*<', "><", page.read_text()) + header


@pytest.mark.parametrize("masked", [False, True])
def test_no_secret_is_in_the_file(metalog: Metalog, with_secrets: Path, masked: bool) -> None:
    page = with_secrets.parent / "page.html"
    options = ["--mask-hosts"] if masked else []
    assert metalog("report", with_secrets, page, *options).code == 0
    text = everything(page)
    assert SECRET not in text
    image = metalog("image", with_secrets, "--part", "scram", "--json", "--show-secrets").json
    (user,) = image["parts"]["scram"]
    for name in ("salt", "stored_key", "server_key"):
        assert user[name] not in text
    assert "(redacted)" in text


def test_masked_hosts_are_not_in_the_file(metalog: Metalog, with_secrets: Path) -> None:
    page = with_secrets.parent / "masked.html"
    assert metalog("report", with_secrets, page).code == 0
    plain = everything(page)
    endpoints = [
        endpoint["host"]
        for broker in metalog("image", with_secrets, "--part", "brokers", "--json").json["parts"][
            "brokers"
        ]
        for endpoint in broker["end_points"]
    ]
    hosts = {HOSTS[0], HOSTS[1], *endpoints} - {"localhost"}
    assert all(host in plain for host in hosts)
    assert metalog("report", with_secrets, page, "--mask-hosts").code == 0
    text = everything(page)
    assert [host for host in hosts if host in text] == []
    assert str(with_secrets) not in text
    assert "host-1" in text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("fenced by 10.1.2.3", "10.1.2.3"),
        ("client 2001:db8::17 left", "2001:db8::17"),
        ("at 2026-01-01T10:20:30.123Z", None),
        ("release 4.1.0 of partition:a/1", None),
    ],
)
def test_addresses_are_masked_in_any_text(text: str, hidden: str | None) -> None:
    sections = ("values", "labels", "origins", "texts", "links", "names", "event_texts")
    further = ("event_origins", "outage_texts", "summary")
    header: dict[str, Any] = {name: [text] for name in (*sections, *further)}
    (found,) = HostMask().mask(header)["texts"]
    assert found == (text if hidden is None else text.replace(hidden, "host-1"))


def test_a_range_that_is_too_large_is_narrowed(demo_log: Path) -> None:
    with LogReader.open(demo_log) as reader:
        told = report_shown(Past(reader), reader.end_offset - 1, ShowReport(size_max=9_000))
        (piece,) = told.items
        assert piece.narrowed
        assert len(piece.content) <= 9_000
        unpacked = Unpacked(piece.content)
        assert unpacked.header["asked"] == [0, reader.end_offset - 1]
        assert 0 <= piece.first <= piece.last < reader.end_offset
        assert (piece.first, piece.last) != (0, reader.end_offset - 1)
        assert (told.about().from_, told.about().as_of) == (piece.first, piece.last)
        assert Rebuilt(unpacked).at(piece.last)


def test_a_report_of_topics_tells_of_these_alone(demo_log: Path) -> None:
    with LogReader.open(demo_log) as reader:
        last, timeline, image = reader.end_offset - 1, Timeline.of(reader), None
        labels = sorted(label for kind, label in redacted(timeline.image(last)) if kind == "topic")
        # In a namespace and not.
        names = labels[::8]
        assert {":" in name for name in names} == {True, False}
        told = report_shown(Past(reader), last, ShowReport(topics=tuple(names)))
        unpacked = Unpacked(b"".join(piece.content for piece in told.items))
        rebuilt, seen = Rebuilt(unpacked), 0
        for offset in sorted({*random.Random(5).sample(range(last), 20), last}):
            image = timeline.image(offset, start=image)
            expected = {
                (kind, label): fields
                for (kind, label), fields in redacted(image).items()
                if kind in ("topic", "partition") and label.split("/")[0] in names
            }
            assert rebuilt.at(offset) == expected, f"offset {offset}"
            seen += len(expected)
    assert seen
    header = unpacked.header
    for what in ("names", "event_texts", "terms", "links", "broker_links"):
        assert header[what] == [], what
    assert (header["texts"], header["causes"], header["cluster_id"]) == ([""], [[]], "")


def test_the_file_replaces_one_of_the_name(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    assert metalog("report", demo_log, page, "--to", "20").code == 0
    before = page.read_text()
    assert metalog("report", demo_log, page, "--to", "30").code == 0
    assert page.read_text() != before
    assert [each.name for each in page.parent.iterdir()] == ["page.html"]
    assert metalog("report", demo_log, tmp_path / "page.txt").code == 2


def test_full_disk_is_reported_with_the_file(demo_log: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.html"

    def limit() -> None:
        # To the process the disk seems full after 4 KiB.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))

    done = subprocess.run(
        [sys.executable, "-B", "-m", "api.cli", "report", str(demo_log), str(file)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode in (3, 4)
    assert f"error: IO: {file}: File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []
