"""Commands print secrets only with an option for it."""

import asyncio
import base64
from pathlib import Path

import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ConfigRecord
from records.control import UnknownRecord
from records.security import DelegationTokenRecord, UserScramCredentialRecord
from tests.api.conftest import Metalog

PASSWORD = "hunter2-the-secret"
TOKEN = "token-id-the-secret"
STORED_KEY = b"stored-key-the-secret"
SECRETS = (
    PASSWORD,
    TOKEN,
    base64.urlsafe_b64encode(STORED_KEY).decode(),
    base64.b64encode(STORED_KEY).decode(),
)
RECORDS = (
    ConfigRecord(resource_type=4, resource_name="1", name="ssl.key.password", value=PASSWORD),
    ConfigRecord(resource_type=2, resource_name="t", name="no.such.config", value=PASSWORD),
    ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="86400000"),
    UserScramCredentialRecord(
        name="ada",
        mechanism=1,
        salt=STORED_KEY,
        stored_key=STORED_KEY,
        server_key=STORED_KEY,
        iterations=4096,
    ),
    # As the future has it: SCRAM keys in a layout that is not known yet.
    UnknownRecord(api_key=11, record_version=7, value=STORED_KEY),
    DelegationTokenRecord(
        owner="User:ada",
        requester="User:ada",
        renewers=(),
        issue_timestamp=1,
        max_timestamp=3,
        expiration_timestamp=2,
        token_id=TOKEN,
    ),
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("secrets") / "log"
    create_log(directory, "test-cluster")

    async def write() -> None:
        log = await MetadataLog.open(directory)
        await log.append(NewBatch(records=RECORDS))
        await log.close()

    asyncio.run(write())
    return directory


COMMANDS = [
    ["dump", "{log}"],
    ["dump", "{log}", "--json"],
    ["image", "{log}", "--part", "configs", "--part", "scram", "--part", "tokens"],
    ["image", "{log}", "--json"],
    ["image", "{log}", "--format", "kraft-json"],
    ["diff", "{log}", "start", "end"],
    ["diff", "{log}", "start", "end", "--json"],
    ["history", "{log}", "config:broker/1"],
    ["history", "{log}", "config:topic/t", "--json"],
    ["history", "{log}", "scram:ada/SCRAM-SHA-256", "--json"],
    ["blame", "{log}", "config:broker/1"],
    ["blame", "{log}", "scram:ada/SCRAM-SHA-256", "--json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_a_secret(metalog: Metalog, log: Path, command: list[str]) -> None:
    answer = metalog(*(part.replace("{log}", str(log)) for part in command))
    assert answer.code == 0
    assert not [secret for secret in SECRETS if secret in answer.out]
    assert "(redacted)" in answer.out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_secrets_are_shown_when_asked_for(metalog: Metalog, log: Path, command: list[str]) -> None:
    answer = metalog(*(part.replace("{log}", str(log)) for part in command), "--show-secrets")
    assert answer.code == 0
    assert [secret for secret in SECRETS if secret in answer.out]
    assert "(redacted)" not in answer.out


def test_configs_that_are_no_secret_are_shown(metalog: Metalog, log: Path) -> None:
    assert "86400000" in metalog("image", log, "--part", "configs").out
