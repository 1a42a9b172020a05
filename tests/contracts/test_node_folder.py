"""The contract of a log's folder, on the folders of nodes: each command reads them as any log.

A leader's folder and a follower's are compared with the same log without its node. Commands that
write are refused, and say which command may write.
"""

import asyncio
import contextlib
import io
import json
import re
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio

from api.cli.log.demo_run import write_demo
from api.cli.main import run
from controller.decisions.context.context import Settings
from controller.demo.options import DemoOptions
from metadata_log.files.names import MANIFEST, NODE_FILE
from metadata_log.reader.log_reader import LogReader
from replay.loader import load_image
from tests.api.commands_walk import commands
from tests.api.nodes.group import WAIT_S, Group
from tests.shared_log.filled import fill

USAGE, REFUSED = 2, 3
LEASE_MS, SESSION_MS = 3_000, 600_000

READS = {
    "acls explain": "User:alice read topic:TOPIC --log LOG",
    "acls list": "--log LOG",
    "archive": "LOG NEW",
    "backup": "LOG NEW",
    "bisect": """LOG 'topics["TOPIC"].partitions[0].leader >= 0'""",
    "blame": "LOG topic:TOPIC",
    "brokers describe": "1 --log LOG",
    "brokers list": "--log LOG",
    "check": "LOG",
    "compare": "LOG SECOND",
    "configs describe": "topic/TOPIC --log LOG",
    "configs explain": "topic/TOPIC retention.ms --log LOG",
    "diff": "LOG 20 end",
    "digest": "LOG",
    "du": "LOG",
    "dump": "LOG --from 20 --to 40",
    "export commands": "LOG",
    "export kraft": "LOG NEW --as segments",
    "features describe": "--log LOG",
    "fork": "LOG NEW --at 40",
    "history": "LOG topic:TOPIC",
    "image": "LOG",
    "info": "LOG",
    "namespaces list": "--log LOG",
    "notes list": "--log LOG",
    "outages": "LOG",
    "partitions describe": "TOPIC/0 --log LOG",
    "partitions list": "TOPIC --log LOG",
    "partitions states": "TOPIC --log LOG",
    "quotas describe": "--log LOG",
    "quotas explain": "--log LOG --user alice",
    "reassignments list": "--log LOG",
    "repair": "LOG NEW",
    "report": "LOG NEW.html",
    "shrink": """LOG 'topics["TOPIC"].partitions[0].leader >= 0' NEW""",
    "snapshot create": "LOG",
    "snapshot list": "LOG",
    "snapshot prune": "LOG --keep 1",
    "snapshot show": "LOG END",
    "sql sync": "LOG",
    "subscriptions list": "--log LOG",
    "summary": "LOG",
    "timeline": "LOG",
    "tokens describe": "--log LOG",
    "topics describe": "TOPIC --log LOG",
    "topics lives": "TOPIC --log LOG",
    "topics list": "--log LOG",
    "upgrade-check": "LOG --to 4.0",
    "users describe": "ann --log LOG",
    "users list": "--log LOG",
    "verify": "LOG",
    "what-if": "LOG --drop 60",
    "why": "LOG partition:TOPIC/0",
}
"""Commands that read a log, each with its arguments; NEW is a path that does not exist."""

WRITES = {
    "acls create": "--principal User:bob --operation read --topic TOPIC --log LOG",
    "acls delete": "--topic TOPIC --log LOG",
    "append": "RECORDS --log LOG",
    "brokers fence": "1 --log LOG",
    "brokers register": "9 --log LOG",
    "brokers unfence": "1 --log LOG",
    "brokers unregister": "1 --log LOG",
    "configs append": "topic/TOPIC cleanup.policy=compact --log LOG",
    "configs delete": "topic/TOPIC retention.ms --log LOG",
    "configs replace": "topic/TOPIC retention.ms=1 --log LOG",
    "configs set": "topic/TOPIC retention.ms=1 --log LOG",
    "configs subtract": "topic/TOPIC cleanup.policy=compact --log LOG",
    "elect-leaders": "TOPIC/0 --log LOG",
    "features downgrade": "metadata.version=20 --log LOG",
    "features upgrade": "metadata.version=30 --log LOG",
    "namespaces create": "org --log LOG",
    "namespaces delete": "shop --log LOG",
    "namespaces move": "--from shop --to data --log LOG",
    "notes add": "1 seen --log LOG",
    "quotas delete": "producer_byte_rate --user ann --log LOG",
    "quotas set": "producer_byte_rate=1 --user ann --log LOG",
    "reassignments cancel": "TOPIC/0 --log LOG",
    "reassignments start": "TOPIC/0=1,2 --log LOG",
    "serve": "LOG",
    "subscriptions delete": "billing --log LOG",
    "subscriptions register": "billing orders.* --log LOG",
    "tokens create": "--owner User:ann --log LOG",
    "tokens expire": "--token-id dG9rZW4 --log LOG",
    "tokens renew": "--token-id dG9rZW4 --log LOG",
    "topics adopt": "TOPICS --log LOG",
    "topics alter": "TOPIC --partitions 99 --log LOG",
    "topics create": "new --log LOG",
    "topics delete": "TOPIC --log LOG",
    "transaction": "STEPS --log LOG",
    "users alter": "ann --password-file RECORDS --log LOG",
    "users create": "ann --password-file RECORDS --log LOG",
    "users delete": "ann --log LOG",
}
"""Commands that write to a log."""

ELSEWHERE = {
    "audit": "runs in Spark, on the committed files: tests/replay/audit",
    "broker": "has no log",
    "advise": "reads directories of Kafka",
    "brokers wait": "asks a service",
    "confirm": "mirrors only",
    "demo": "writes a new log",
    "doctor": "asks a quorum",
    "import gap": "mirrors only",
    "import kafka": "mirrors only",
    "import kraft": "mirrors only",
    "init": "writes a new log",
    "mcp": "asks the questions of this table, until it is stopped",
    "nodes create": "test_processes.py",
    "nodes lead": "test_processes.py",
    "nodes list": "test_processes.py",
    "nodes remove": "test_processes.py",
    "nodes repair": "tests/shared_log",
    "record": "has no log",
    "restore": "writes a new log",
    "retain": "drops the beginning: tests/simulated_nodes",
    "shell": "asks the questions of this table, until it is stopped",
    "tail": "waits for records, until it is stopped",
    "view": "asks the questions of this table, until it is stopped",
}
"""Commands that neither read a node's folder nor write to it, or are tried in other tests."""


_OF_THE_FOLDER = re.compile(
    r"(?m)^(note: epoch-|mark |bytes |created at |indexes |all \d|metalog\.json|node\.json).*\n"
    r"|(?<=yes        )\S+Z|(?<= files, )\S+ \S+$"
)
"""What is not of the log: claims of epochs, writes of the mark, other files, times of snapshots.

A filter has an entry more where blocks were committed one by one."""

_STEP = {"command": "namespaces create", "request": {"name": "org"}}


class Folders(NamedTuple):
    """The folders of a node that led and of one that followed, and the same as a log.

    Attributes:
        topic, end: The name of a topic, and the log's end offset.
        scratch: For what commands read and write beside a log.
    """

    log: Path
    leader: Path
    follower: Path
    topic: str
    end: int
    scratch: Path

    def said(self, folder: Path, command: str, arguments: str) -> tuple[int, str]:
        """Run a command on a folder; return its exit code, and what it prints."""
        new = Path(tempfile.mkdtemp(dir=self.scratch)) / "new"
        words = {
            "LOG": folder,
            "SECOND": self.scratch / "demo",
            "NEW": new,
            "END": self.end,
            **{name: self.scratch / name for name in ("TOPICS", "RECORDS", "STEPS")},
            "TOPIC": self.topic,
        }
        names = re.compile("|".join(words))
        filled = [names.sub(lambda m: str(words[m[0]]), each) for each in shlex.split(arguments)]
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = run([*command.split(), *filled])
        text = out.getvalue().replace(str(folder), "LOG").replace(str(new), "NEW")
        return code, _OF_THE_FOLDER.sub("", text)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Let two nodes lead and follow over a demo; both end, as by SIGTERM, with equal logs.

    The follower ends first, so that it does not take over from the leader. The lease is long for
    busy machines, and so are the sessions of the brokers, which send no heartbeats.
    """
    scratch = tmp_path_factory.mktemp("nodes")
    await write_demo(scratch / "demo", DemoOptions(topics=10, changes=60, seed=3))
    group = Group(scratch, 2)
    fill(group.store, scratch / "demo")
    for member in group.members:
        member.settings = Settings(session_timeout_ms=SESSION_MS)
        member.lease_ms = LEASE_MS
    group.start()
    leader = await group.leader()
    await leader.create("made-by-a-leader")
    (follower,) = [member for member in group.members if member is not leader]
    async with asyncio.timeout(WAIT_S):
        while _segments(follower.directory) != _segments(leader.directory):
            await asyncio.sleep(0.01)
    await follower.stop()
    await leader.stop()
    assert _segments(follower.directory) == _segments(leader.directory)
    log = scratch / "node-9"
    shutil.copytree(leader.directory, log)
    (log / NODE_FILE).unlink()
    manifest = json.loads((log / MANIFEST).read_bytes())
    (log / MANIFEST).write_text(json.dumps({**manifest, "format_version": 1}))
    with LogReader.open(log) as reader:
        image = load_image(reader)
    topic = min(each.name for each in image.topics())
    (scratch / "TOPICS").write_text("adopted 1:2\n")
    (scratch / "STEPS").write_text(json.dumps(_STEP))
    (scratch / "RECORDS").write_text(json.dumps({"type": "NoOpRecord", "data": {}}))
    end = image.provenance.next_offset
    return Folders(log, leader.directory, follower.directory, topic, end, scratch)


@pytest.mark.parametrize("command", READS)
def test_command_reads_a_nodes_folder_as_any_log(folders: Folders, command: str) -> None:
    code, text = folders.said(folders.log, command, READS[command])
    assert code != USAGE, text
    for folder in (folders.leader, folders.follower):
        assert folders.said(folder, command, READS[command]) == (code, text)


@pytest.mark.parametrize("command", WRITES)
def test_command_that_writes_is_refused(folders: Folders, command: str) -> None:
    for folder, before in [(each, _content(each)) for each in (folders.leader, folders.follower)]:
        code, text = folders.said(folder, command, WRITES[command])
        assert code == REFUSED, text
        assert re.search(
            r"NOT_CONTROLLER: LOG is the folder of node \d of a shared log; only `metalog serve "
            r"LOG --shared URL --node \d` writes to it",
            text,
        ), text
        assert _content(folder) == before


def test_no_command_is_left_out() -> None:
    tables = [*READS, *WRITES, *ELSEWHERE]
    assert sorted(tables) == sorted(" ".join(words) for words, _ in commands())


def _segments(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.avro")}


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*") if path.suffix != ".db"}
