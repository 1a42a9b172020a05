"""Users, quotas and tokens written by commands: replay and a snapshot give the same digest."""

from pathlib import Path

from tests.api.conftest import Metalog


def test_replay_and_snapshot_agree_on_users_quotas_and_tokens(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("pencil")
    password = ("--password-file", tmp_path / "secret", "--log", log)
    key = ("--secret-key-file", tmp_path / "secret", "--as", "User:ann", "--log", log)

    def run(*arguments: object) -> str:
        answer = metalog(*arguments)
        assert answer.code == 0, (arguments, answer)
        return answer.out

    def digests() -> set[str]:
        return {
            metalog("digest", log, "--by", how, "--json").json["digest"]
            for how in ("replay", "snapshot")
        }

    empty = metalog("digest", log, "--json").json["digest"]
    run("users", "create", "ann", *password)
    run("users", "create", "ann", "--mechanism", "SCRAM-SHA-256", *password)
    run(
        "quotas",
        "set",
        "--user",
        "ann",
        "--default-client-id",
        "producer_byte_rate=1",
        *password[2:],
    )
    token = metalog("tokens", "create", *key, "--json").json["results"][0]["token_id"]
    run("snapshot", "create", log)
    (first,) = digests()
    assert first != empty
    run("users", "alter", "ann", *password)
    run("quotas", "set", "--ip", "::1", "connection_creation_rate=1", *password[2:])
    run("tokens", "renew", "--token-id", token, "--period-ms", "5000", *key)
    (second,) = digests()  # of the snapshot with the records after it
    assert second != first
    run("users", "delete", "ann", *password[2:])
    run("tokens", "expire", "--token-id", token, *key)
    assert len(digests()) == 1
    end = metalog("info", log, "--json").json["log_end"]
    for part in ("scram", "quotas", "tokens"):
        assert run("image", log, "--part", part, "--at", end - 1)
