"""Compares the answers that clients got with the log, and with each other.

No code of the project is used: the log is read as Avro, and `linearizability` searches for an order
of the calls.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from tests.torture.mixed_load.history import Call, Kind, Result
from tests.torture.mixed_load.linearizability import Operation, problem
from tests.torture.mixed_load.written import Written

Register = tuple[int | None, int | None]
"""Value and version of a register; None: it has none."""

State = tuple[Register, ...]


def broken_promises(calls: Sequence[Call], log: Sequence[Written]) -> Iterator[str]:
    """Yield the problems, one per line."""
    found: dict[int, list[Written]] = defaultdict(list)
    for batch in log:
        for token in batch.tokens:
            found[token].append(batch)
    yield from _each_once(calls, found)
    yield from _in_order(calls, found)
    yield from _refused_for_a_reason(calls, log, found)
    yield from _linearizable(calls, found)


def _each_once(calls: Sequence[Call], found: dict[int, list[Written]]) -> Iterator[str]:
    """Yield acknowledged calls that are not in the log once at their offset, and other
    duplicates.
    """
    asked = {call.token: call for call in calls if call.token}
    yield from (f"phantom: nobody wrote {token}" for token in found.keys() - asked.keys())
    for token, call in asked.items():
        batches = found.get(token, [])
        if len(batches) > 1:
            yield f"twice: {call.name} stands at {[batch.base for batch in batches]}"
        elif call.result in (Result.REFUSED, Result.FAILED) and batches:
            yield f"refused and written: {call.name} stands at {batches[0].base}"
        elif call.result is Result.DONE and not batches:
            yield f"lost: {call.name} was acknowledged with end {call.end}"
        elif call.result is Result.DONE:
            yield from _where_it_was_told(call, batches[0])


def _where_it_was_told(call: Call, batch: Written) -> Iterator[str]:
    if call.end not in (None, batch.end) or call.base not in (None, batch.base):
        yield f"{call.name}: told [{call.base}, {call.end}), stands at [{batch.base}, {batch.end})"
    if call.kind is Kind.APPEND_AT and batch.base != call.expected:
        yield f"{call.name}: it begins at {batch.base}"
    versions = _versions(call, batch)
    if call.versions is not None and call.versions != versions:
        yield f"{call.name}: its records have {versions}"


def _versions(call: Call, batch: Written) -> tuple[int | None, ...]:
    """Return the versions that a call gave to its registers."""
    offsets = {name: offset for offset, name, token in batch.configs if token == call.token}
    return tuple([offsets.get(register) for register in call.registers])


def _in_order(calls: Sequence[Call], found: dict[int, list[Written]]) -> Iterator[str]:
    """Yield calls whose batch is not before those of calls that began after their answer."""
    written = [(found[call.token][0].base, call) for call in calls if call.token in found]
    written.sort(key=lambda each: each[0])
    latest: Call | None = None
    for base, call in written:
        if latest is not None and latest.invoked > call.returned:
            yield f"{call.name} at {base} returned before {latest.name} began, which stands first"
        if latest is None or call.invoked > latest.invoked:
            latest = call


def _refused_for_a_reason(
    calls: Sequence[Call], log: Sequence[Written], found: dict[int, list[Written]]
) -> Iterator[str]:
    """Yield refused appends at an expected end offset that was right during the whole call."""
    by_batch = {found[call.token][0].base: call for call in calls if call.token in found}
    following = {
        batch.end: (by_batch.get(batch.base), by_batch.get(after.base))
        for batch, after in pairwise(log)
    }
    for call in calls:
        if call.kind is not Kind.APPEND_AT or call.result is not Result.REFUSED:
            continue
        before, after = following.get(call.expected or 0, (None, None))
        if before and after and before.returned < call.invoked and call.returned < after.invoked:
            yield f"{call.name}: the log ended there all the time"


def _linearizable(calls: Sequence[Call], found: dict[int, list[Written]]) -> Iterator[str]:
    """Yield the groups of registers used together for which no valid order of all calls exists."""
    histories: dict[tuple[str, ...], list[Operation[State]]] = defaultdict(list)
    for call in calls:
        step = _step(call, found)
        if step is not None:
            histories[call.registers].append(step)
    for registers, history in histories.items():
        wrong = problem(((None, None),) * len(registers), history)
        if wrong is not None:
            yield f"not linearizable: {', '.join(registers)}: {wrong}"


def _step(call: Call, found: dict[int, list[Written]]) -> Operation[State] | None:
    """Return the effect of a call on its registers; None if it had none and got no answer."""
    if not call.registers:
        return None
    operation = partial(Operation[State], call.name, call.invoked, call.returned)
    if call.kind is Kind.READ:
        return operation(partial(_read, call)) if call.result is Result.DONE else None
    if call.result is Result.REFUSED:
        return operation(partial(_refused, call))
    if call.token not in found:
        return None
    versions = _versions(call, found[call.token][0])
    after = tuple([(call.token, version) for version in versions])
    return operation(partial(_written, call, after))


def _read(call: Call, state: State) -> State | None:
    told = call.versions or (None,) * len(state)
    for (value, version), seen, version_told in zip(state, call.values, told, strict=True):
        if value != seen or version_told not in (None, version):
            return None
    return state


def _refused(call: Call, state: State) -> State | None:
    ((_, version),) = state
    assert call.versions is not None
    return state if (version,) == call.versions and version != call.expected else None


def _written(call: Call, after: State, state: State) -> State | None:
    if call.kind is Kind.COMPARE_AND_WRITE and state[0][1] != call.expected:
        return None
    return after
