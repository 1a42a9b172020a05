"""`check --follow` tells each alert once, whatever becomes of it and of its receivers."""

import json
import signal
from pathlib import Path

import pytest

from tests.api.alerts.running import Hook, checking, kill_once, wait_until, waiting
from tests.api.conftest import Metalog
from tests.hostile_log import HOSTILE, write_hostile_log

FEW = "size(topics) < 2"


@pytest.fixture
def log(metalog: Metalog, tmp_path: Path) -> Path:
    """A log with one topic."""
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    for command in (("register", "1"), ("unfence", "1")):
        assert metalog("brokers", *command, "--log", log).code == 0
    create(metalog, log, "first")
    return log


def create(metalog: Metalog, log: Path, name: str) -> None:
    done = metalog("topics", "create", name, "--assignment", "1", "--log", log)
    assert done.code == 0, done


def delete(metalog: Metalog, log: Path, name: str) -> None:
    assert metalog("topics", "delete", name, "--log", log).code == 0


def checks(folder: Path, alert: str = "", expect: str = f"few = '{FEW}'") -> Path:
    path = folder / "checks.toml"
    path.write_text(f"invariants = false\n[expect]\n{expect}\n[alert]\n{alert}\n")
    return path


def test_alert_says_what_fails_since_when_and_when_it_ended(metalog: Metalog, log: Path) -> None:
    leaders = "!topics.exists(t, t.name == 'second')"
    with checking(log, "--expect", leaders) as running:
        wait_until(lambda: Path(f"{log}.alerts.json").exists())
        create(metalog, log, "second")
        begun = running.line()
        delete(metalog, log, "second")
        ended = running.line()
        assert running.stop() == (0, "")
    records = metalog("dump", log, "--type", "TopicRecord", "--json").lines
    (created,) = [each for each in records if each["data"]["name"] == "second"]
    assert begun["offset"] >= created["offset"] and begun["time"] == created["timestamp"]
    assert (begun["status"], begun["until"]) == ("firing", None)
    assert (begun["check"], begun["objects"], begun["object_count"]) == (
        *(leaders, ["topic:second"], 1),
    )
    assert (ended["id"], ended["status"]) == (begun["id"], "resolved")
    end = metalog("info", log, "--json").json["log_end"]
    assert (ended["until"], ended["offset"]) == (end - 1, begun["offset"])
    found = metalog("check", log, "--expect", leaders, "--json").json["violations"]
    assert [(each["offset"], each["until"]) for each in found] == [(begun["offset"], end - 1)]


def test_once_ends_with_the_exit_code_of_alerts(metalog: Metalog, log: Path) -> None:
    with checking(log, "--once", "--expect", FEW) as running:
        wait_until(lambda: Path(f"{log}.alerts.json").exists())
        create(metalog, log, "second")
        assert running.line()["check"] == FEW
        assert running.ended() == (7, "")
    # It lasts, and was told: it is no new alert.
    with checking(log, "--once", "--expect", FEW) as running:
        delete(metalog, log, "second")
        assert running.line()["status"] == "resolved"
        create(metalog, log, "third")
        assert running.line()["status"] == "firing"
        assert running.ended() == (7, "")


def test_what_fails_at_the_first_start_is_told_with_its_beginning(
    metalog: Metalog, log: Path
) -> None:
    for name in ("second", "third"):
        create(metalog, log, name)
    found = metalog("check", log, "--expect", FEW, "--json").json["violations"]
    with checking(log, "--once", "--expect", FEW) as running:
        assert running.line()["offset"] == found[0]["offset"]
        assert running.ended()[0] == 7


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_happens_while_it_is_away_is_told_once(
    metalog: Metalog, log: Path, number: signal.Signals
) -> None:
    state = Path(f"{log}.alerts.json")
    with checking(log, "--expect", FEW) as running:
        wait_until(state.exists)
        create(metalog, log, "second")
        first = running.line()
        wait_until(lambda: not waiting(state))
        running.stop(number)
    delete(metalog, log, "second")
    create(metalog, log, "third")
    with checking(log, "--expect", FEW) as running:
        lines = [running.line(), running.line()]
        wait_until(lambda: not waiting(state))
        assert running.stop()[1] == ""
    assert [each["status"] for each in lines] == ["resolved", "firing"]
    assert lines[0]["id"] == first["id"] != lines[1]["id"]


def test_killed_between_sending_and_marking_it_is_sent_again_with_its_id(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    with Hook() as hook:
        (tmp_path / "token").write_text("Bearer secret\n")
        file = checks(tmp_path, f'webhook = "{hook.url}"\nauthorization-file = "token"')
        with checking(log, "--expect", file) as running:
            hook.on_post = kill_once(lambda: running.process)
            wait_until(Path(f"{log}.alerts.json").exists)
            create(metalog, log, "second")
            assert running.ended()[0] == -signal.SIGKILL
        with checking(log, "--expect", file) as running:
            first, again = hook.wait_for(2)
            wait_until(lambda: not waiting(Path(f"{log}.alerts.json")))
            running.stop()
        with checking(log, "--expect", file) as running:
            delete(metalog, log, "second")
            *_, resolved = hook.wait_for(3)
            running.stop()
    headers = [each.pop("headers") for each in (first, again, resolved)]
    assert first == again
    assert [each["Idempotency-Key"] for each in headers] == [
        f"{first['id']}-firing",
        f"{first['id']}-firing",
        f"{first['id']}-resolved",
    ]
    assert {each["Authorization"] for each in headers} == {"Bearer secret"}
    assert "ecret" not in json.dumps(first)


def test_receiver_that_is_away_gets_it_when_it_is_back(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    with Hook() as away:
        port = away.port
    state = tmp_path / "state.json"
    options = ("--state", state, "--expect")
    webhook = f'webhook = "http://127.0.0.1:{port}/secret"'
    with checking(log, *options, checks(tmp_path, webhook)) as running:
        wait_until(state.exists)
        create(metalog, log, "second")
        assert running.line()["status"] == "firing"
        assert running.process.stderr is not None
        trouble = running.process.stderr.readline()
        # What it tells others does not wait for it.
        delete(metalog, log, "second")
        assert running.line()["status"] == "resolved"
        wait_until(lambda: len(waiting(state)) == 2)
        running.stop(signal.SIGKILL)
    assert "webhook" in trouble and "again in" in trouble and "secret" not in trouble
    with Hook(port) as hook, checking(log, *options, checks(tmp_path, webhook)) as running:
        assert [each["status"] for each in hook.wait_for(2)] == ["firing", "resolved"]
        wait_until(lambda: not waiting(state))
        assert running.stop()[1] == ""


def test_answer_that_refuses_is_no_delivery(metalog: Metalog, log: Path, tmp_path: Path) -> None:
    create(metalog, log, "second")
    with Hook() as hook:
        hook.answers = [503]
        file = checks(tmp_path, f'webhook = "{hook.url}"')
        with checking(log, "--once", "--expect", file) as running:
            code, trouble = running.ended()
        assert (code, len(hook.posted)) == (7, 2)
    assert "'HTTP/1.0 503 Service Unavailable'" in trouble


def test_command_that_takes_too_long_is_killed_and_run_again(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    create(metalog, log, "second")
    ran = tmp_path / "ran"
    script = f"echo x >> {ran}; [ $(wc -l < {ran}) = 1 ] && sleep 60; cat > {ran}.json"
    command = json.dumps(["sh", "-c", script])
    file = checks(tmp_path, f"command = {command}\ntimeout-s = 0.3")
    with checking(log, "--once", "--expect", file) as running:
        code, trouble = running.ended()
    assert code == 7
    assert "command" in trouble and "no answer within 0.3 s" in trouble
    assert json.loads(Path(f"{ran}.json").read_text())["check"] == "few"


def test_hostile_names_are_data(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write_hostile_log(log)
    out, shell = tmp_path / "out", "cat > $0; echo $METALOG_ALERT_STATUS >> $0; env >> $0"
    command = json.dumps(["sh", "-c", shell, str(out)])
    file = checks(tmp_path, f"command = {command}", "none = '!topics.exists(t, true)'")
    with checking(log, "--once", "--expect", file) as running:
        told = running.line()
        assert running.ended()[0] == 7
    line, status, *environment = out.read_text().split("\n")
    assert (json.loads(line), status) == (told, "firing")
    assert told["principal"] == f"User:{HOSTILE}"
    assert not any("touch hit" in each for each in environment)
    assert line.isprintable()
    assert not (tmp_path / "hit").exists() and not Path("hit").exists()


def test_two_processes_do_not_share_a_state(metalog: Metalog, log: Path) -> None:
    with checking(log, "--expect", FEW):
        wait_until(Path(f"{log}.alerts.json").exists)
        refused = metalog("check", log, "--follow", "--expect", FEW)
    assert refused.code == 4
    assert "name another --state FILE" in refused.err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--once",), 2, "--once and --state are for --follow"),
        (("--follow", "--to", "5"), 2, "--follow has no end"),
        (("--follow", "--expect", "no.toml"), 3, "there is no file no.toml"),
        (("--follow", "--expect", "size(topics) <"), 3, "INVALID_REQUEST"),
    ],
)
def test_wrong_use_says_what_is_wrong(
    metalog: Metalog, log: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    done = metalog("check", log, *options)
    assert done.code == code
    assert said in " ".join(done.err.replace("│", " ").split())


def test_what_is_no_log_is_refused_and_leaves_no_state(metalog: Metalog, tmp_path: Path) -> None:
    done = metalog("check", tmp_path / "none", "--follow")
    assert (done.code, done.err.partition(": ")[2][:14]) == (3, "LOG_NOT_FOUND:")
    assert list(tmp_path.iterdir()) == []


def test_state_of_another_log_is_refused(metalog: Metalog, log: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    create(metalog, log, "second")
    with checking(log, "--once", "--state", state, "--expect", FEW) as running:
        assert running.ended()[0] == 7
    assert metalog("init", tmp_path / "other").code == 0
    done = metalog("check", tmp_path / "other", "--follow", "--state", state)
    assert done.code == 3
    assert "name another --state FILE" in done.err


def test_many_alerts_at_once_are_each_told_and_marked_together(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    for name in ("second", "third"):
        create(metalog, log, name)
    names = [f"c{n} = 'size(topics) != 3 || size(brokers) == {n + 2}'" for n in range(300)]
    with Hook() as hook:
        file = checks(tmp_path, f'webhook = "{hook.url}"', "\n".join(names))
        with checking(log, "--once", "--expect", file) as running:
            told = [running.line()["check"] for _ in names]
            assert running.ended() == (7, "")
        posted = [each["check"] for each in hook.posted]
    assert told == posted == sorted(told, key=lambda check: expression_of(check, file))


def expression_of(check: str, file: Path) -> str:
    return next(line for line in file.read_text().splitlines() if line.startswith(f"{check} = "))[
        len(check) :
    ]
