"""All interfaces during kills, and tests that broken promises are noticed."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.torture.campaigns import mixed_load
from tests.torture.campaigns.mixed_load import ROOT, Load, kill_some_times
from tests.torture.mixed_load.history import Call, Kind, Result
from tests.torture.mixed_load.linearizability import NEVER, Operation, problem
from tests.torture.mixed_load.promises import broken_promises
from tests.torture.mixed_load.written import Written
from tests.torture.planted_bugs.bug import Bug
from tests.torture.planted_bugs.planted_copy import planted

WAYS = (
    "http",
    "http If-Match",
    "http append",
    "http question",
    "kafka command",
    "kafka key 32",
    "kafka key 44",
    "kafka question",
    "kafka transaction",
    "socket append",
    "socket append --expect",
    "socket command",
    "socket question",
    "socket transaction",
)


def test_service_that_is_killed_keeps_its_promises_by_every_way_in() -> None:
    outcome = kill_some_times(1, 2, Load(0, 0.3, 300))
    assert outcome.failures == ()
    counts = dict(each.rsplit(" ", 1) for each in outcome.notes[0].partition(": ")[2].split(", "))
    assert [way for way in WAYS if int(counts[way].partition("/")[0]) == 0] == []


def reading(seen: int, invoked: float, returned: float) -> Operation[int]:
    return Operation(
        f"read {seen}", invoked, returned, lambda state: state if state == seen else None
    )


def writing(value: int, invoked: float, returned: float) -> Operation[int]:
    return Operation(f"write {value}", invoked, returned, lambda _: value)


@pytest.mark.parametrize(
    ("history", "is_linearizable"),
    [
        ((writing(1, 0, 1), reading(1, 2, 3)), True),
        ((writing(1, 0, 1), reading(0, 2, 3)), False),
        # Concurrent: either order, but the same for both readers.
        ((writing(1, 0, 9), reading(0, 2, 3), reading(1, 4, 5)), True),
        ((writing(1, 0, 9), reading(1, 2, 3), reading(0, 4, 5)), False),
        ((writing(1, 0, 9), writing(2, 0, 9), reading(1, 1, 2), reading(2, 3, 4)), True),
        ((writing(1, 0, 9), writing(2, 0, 9), *(reading(n, n, n + 0.5) for n in (1, 2))), True),
        ((writing(1, 0, 1), writing(2, 0, 1), *(reading(n, 1 + n, 2 + n) for n in (1, 2))), False),
        # Without an answer it may take effect at any later time.
        ((writing(1, 0, NEVER), reading(0, 5, 6), reading(1, 7, 8)), True),
        ((writing(1, 6.5, NEVER), reading(1, 5, 6)), False),
    ],
)
def test_history_is_judged(history: tuple[Operation[int], ...], is_linearizable: bool) -> None:
    assert (problem(0, history) is None) == is_linearizable


def test_long_history_with_many_at_once_is_judged_quickly() -> None:
    together = 4
    history = [
        writing(number, number // together, number // together + 0.9) for number in range(1_000)
    ]
    last = 1_000 / together + 1
    assert problem(0, [*history, reading(997, last, last + 1)]) is None
    assert problem(0, [*history, reading(7, last, last + 1)]) is not None


def write(token: int, when: float, **told: Any) -> Call:
    fields: dict[str, Any] = {"result": Result.DONE, "returned": when + 0.5, **told}
    return Call(way="w", kind=Kind.WRITE, invoked=when, registers=("r",), token=token, **fields)


def note(token: int, when: float, **told: Any) -> Call:
    fields: dict[str, Any] = {
        "kind": Kind.APPEND,
        "result": Result.DONE,
        "returned": when + 0.5,
        **told,
    }
    return Call(way="w", invoked=when, token=token, **fields)


def read(value: int | None, when: float, version: int | None = None) -> Call:
    return Call(
        way="w",
        kind=Kind.READ,
        invoked=when,
        registers=("r",),
        values=(value,),
        versions=(version,),
        result=Result.DONE,
        returned=when + 0.5,
    )


def compared(token: int, when: float, expected: int, current: int | None = None) -> Call:
    refused: dict[str, Any] = (
        {"result": Result.REFUSED, "versions": (current,)} if current is not None else {}
    )
    call = write(token, when, expected=expected, **refused)
    call.kind = Kind.COMPARE_AND_WRITE
    return call


def config(offset: int, token: int) -> Written:
    return Written(offset, offset + 1, (), ((offset, "r", token),))


def appended(offset: int, token: int) -> Written:
    return Written(offset, offset + 1, (token,), ())


LOG = (config(10, 1), config(11, 2), appended(12, 3))
CALLS = (write(1, 0, end=11, versions=(10,)), write(2, 1, end=12), note(3, 2, base=12, end=13))


@pytest.mark.parametrize(
    ("calls", "log"),
    [
        (CALLS, LOG),
        ((*CALLS, read(2, 3, 11), read(2, 4)), LOG),
        ((*CALLS, compared(4, 3, 10, current=11)), LOG),
        ((*CALLS, compared(4, 3, 11)), (*LOG, config(13, 4))),
        ((*CALLS, write(4, 3, result=Result.UNKNOWN, returned=NEVER), read(2, 9)), LOG),
        (
            (*CALLS, write(4, 3, result=Result.UNKNOWN, returned=NEVER), read(2, 9), read(4, 10)),
            (*LOG, config(13, 4)),
        ),
        # The log may have ended there before or after the call.
        ((*CALLS, note(4, 1.9, kind=Kind.APPEND_AT, expected=12, result=Result.REFUSED)), LOG),
    ],
)
def test_kept_promises_are_not_complained_about(
    calls: tuple[Call, ...], log: tuple[Written, ...]
) -> None:
    assert list(broken_promises(calls, log)) == []


@pytest.mark.parametrize(
    ("calls", "log", "complaint"),
    [
        (CALLS, LOG[:2], "lost: w: APPEND 3"),
        (CALLS, (*LOG, appended(13, 3)), "twice: w: APPEND 3"),
        (CALLS, (*LOG, appended(13, 9)), "phantom: nobody wrote 9"),
        ((*CALLS[:2], note(3, 2, base=11, end=12)), LOG, "told [11, 12), stands at [12, 13)"),
        ((write(1, 0, versions=(9,)), *CALLS[1:]), LOG, "its records have (10,)"),
        ((*CALLS, compared(4, 3, 9, current=11)), (*LOG, config(13, 4)), "refused and written"),
        ((*CALLS, note(0, 4), note(5, 2)), (*LOG, appended(13, 4)), "phantom: nobody wrote 4"),
        ((*CALLS, note(5, 9), note(4, 4)), (*LOG, appended(13, 5), appended(14, 4)), "before"),
        ((*CALLS, note(4, 3, kind=Kind.APPEND_AT, expected=12)), (*LOG, appended(13, 4)), "begins"),
        (
            (
                *CALLS,
                note(4, 2.6, kind=Kind.APPEND_AT, expected=13, result=Result.REFUSED),
                note(5, 9),
            ),
            (*LOG, appended(13, 5)),
            "the log ended there all the time",
        ),
        # A value that was never written, an old one, and a version that never was.
        ((*CALLS, read(7, 3)), LOG, "not linearizable: r"),
        ((*CALLS, read(1, 3)), LOG, "not linearizable: r"),
        ((*CALLS, read(2, 3, 10)), LOG, "not linearizable: r"),
        # Two writers saw the same version, and both were told that they were the first.
        (
            (*CALLS, compared(4, 3, 11), compared(5, 3, 11)),
            (*LOG, config(13, 4), config(14, 5)),
            "not linearizable: r",
        ),
        # The current version in a refusal was never committed.
        ((*CALLS, compared(4, 3, 10, current=12)), LOG, "not linearizable: r"),
        ((*CALLS, compared(4, 3, 11, current=11)), LOG, "not linearizable: r"),
    ],
)
def test_broken_promise_is_noticed(
    calls: tuple[Call, ...], log: tuple[Written, ...], complaint: str
) -> None:
    assert complaint in "\n".join(broken_promises(calls, log))


BUGS = (
    Bug(
        name="answer before it is durable",
        what="Commands and appends are answered when they are decided.",
        file="controller/pipeline/pipeline.py",
        old="""start_offset, in_transaction))
        self._answers.release(self._committed_end)
""",
        new="""start_offset, in_transaction))
        self._answers.release(self.next_offset)
""",
        campaign=mixed_load.NAME,
        seeds=(1, 2, 3),
        expects="lost: ",
    ),
    Bug(
        name="no comparison of versions",
        what="A conditional change is carried out whatever the version is.",
        file="controller/decisions/versions.py",
        old="    if current != expected.version:\n",
        new="    if not expected:\n",
        campaign=mixed_load.NAME,
        seeds=(1,),
        expects="not linearizable: ",
    ),
    Bug(
        name="no comparison of the end",
        what="A batch is appended wherever the log ends.",
        file="controller/raw_appends/raw_append.py",
        old="    _check_end(context, request.expected_end_offset)\n",
        new="",
        campaign=mixed_load.NAME,
        seeds=(1,),
        expects="it begins at",
    ),
    Bug(
        name="repeated requests are forgotten",
        what="A request that is repeated after a kill is carried out again.",
        file="metadata_log/writer/request_window.py",
        old="        found = None if key is None else self._committed.get(key)\n",
        new="        found = None\n",
        campaign=mixed_load.NAME,
        seeds=(1, 2, 3),
        expects="twice: ",
    ),
)
PACKAGES = ("records", "metadata_log", "replay", "controller", "api", "migrations")


@pytest.mark.heavy
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_of_the_service_is_noticed(bug: Bug, tmp_path: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)
    path = tmp_path / bug.file
    path.write_text(planted(bug, path.read_text()))
    messages: list[str] = []
    for seed in bug.seeds:
        outcome = kill_some_times(seed, 4, Load(0, 1, 400), tmp_path)
        messages += [failure.message for failure in outcome.failures]
        if any(bug.expects in message for message in messages):
            return
    raise AssertionError(f"{bug.what} Noticed was: {messages}")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_can_be_planted(bug: Bug) -> None:
    source = (ROOT / bug.file).read_text()
    assert planted(bug, source) != source
