"""Prints images as text."""

from typing import TYPE_CHECKING, Any

from api.cli.terminal.output import (
    count_text,
    field_text,
    print_line,
    print_table,
    time_text,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from api.documents.logs import Known
    from api.questions.overview import Overview
    from metadata_log.reader.log_reader import LogReader
    from replay.about import About, LeftOut

# Records left out that are printed as text.
_SHOWN_MAX = 10

# Printed in another place, or only as JSON.
_NOT_FIELDS = frozenset({"object", "version"})


def print_objects(parts: dict[str, list[dict[str, Any]]], about: "About") -> None:
    """Print all objects of some parts, one per line."""
    print_line(position_text(about))
    for objects in parts.values():
        for shown in objects:
            fields = [
                f"{name}={field_text(shown['object'], name, value)}"
                for name, value in shown.items()
                if name not in _NOT_FIELDS
            ]
            print_line(f"{shown['object']}  {' '.join(fields)}")
    if any(voter.get("is_static") for voter in parts.get("voters", ())):
        print_line(
            "the quorum is static: the log names its voters, their endpoints are in "
            "controller.quorum.voters"
        )
    print_remark(about)


def print_overview(found: "Overview", about: "About") -> None:
    """Print counts, brokers, and the first topics."""
    print_line(position_text(about))
    print_line(
        f"  {count_text(found.topic_count, 'topic')}, "
        f"{count_text(found.partition_count, 'partition')}: "
        f"{found.leaderless:,} without a leader, {found.under_replicated:,} under-replicated"
    )
    fenced = sum(broker.is_fenced for broker in found.brokers)
    print_line(f"  {count_text(len(found.brokers), 'broker')}: {fenced:,} fenced")
    if found.features:
        from records.metadata_versions import feature_level_text

        levels = ", ".join(
            f"{name} {feature_level_text(name, level)}" for name, level in found.features.items()
        )
        print_line(f"  features: {levels}")
    print_line()
    _print_brokers(found)
    _print_topics(found)
    print_remark(about)


def print_remark(about: "About | Known") -> None:
    """Print which records were left out of an answer or not counted.

    If records were not understood, prints a warning on standard error.
    """
    print_gap_before(about)
    if text := left_out_text(getattr(about, "left_out", None) or ()):
        print_line(text)
    if about.not_counted:
        print_line(f"records not understood were not counted: {about.not_counted}")
    elif text := not_understood_text(about):
        warn(text)


def print_gap_before(about: "About | Known") -> None:
    """Print the gap before the log, if earlier records are in another part of its recording."""
    if gap := getattr(about, "gap", None):
        from api.cli.source.gaps import gap_text

        print_line(f"{gap_text(gap)}; what was before is in another part of the recording")


def print_bounds(about: "About", first: int) -> None:
    """Print which parts of an answer over a range are unknown or unreliable.

    Args:
        first: First offset of the range.
    """
    print_gap_before(about)
    if about.history_start > 0 and first <= about.history_start:
        print_line(
            f"left out: offsets below {about.history_start}, before the base checkpoint, which "
            "holds only the state there"
        )
    if isinstance(about.confirmed_end, int) and about.confirmed_end <= about.as_of:
        print_line(
            f"not confirmed from offset {about.confirmed_end} on: Kafka may still replace these "
            "records"
        )


def print_unconfirmed(reader: "LogReader", included: str | None) -> None:
    """Print whether records that Kafka may still replace are left out, or which are included.

    Args:
        included: Text about the included records; None if they are left out.
    """
    from metadata_log.kraft.confirmation import unconfirmed_text

    if reader.confirmed_end < reader.end_offset:
        text = unconfirmed_text(reader.confirmed_end, reader.end_offset)
        print_line(f"{included or 'left out'}: {text}")


def position_text(about: "About") -> str:
    """Return the position of an answer in its log, such as `as of offset 4107, ...`."""
    if about.log_end == about.history_start:
        if about.log_end:
            return f"as of offset {about.as_of}, by the base checkpoint (the log holds no records)"
        return f"the log is empty: its first record will be {about.log_end}"
    time = time_text(about.as_of_timestamp or None)
    if isinstance(about.as_of_timestamp_max, int):
        time = f"between {time} and {time_text(about.as_of_timestamp_max)}"
    text = f"as of offset {about.as_of}, {time}"
    if about.as_of < about.history_start:
        text = "before the first record"
    if about.mid_batch:
        text += ", inside a batch"
    if isinstance(about.pending_transaction, int):
        text += f", before the transaction that began at {about.pending_transaction}"
    if isinstance(about.confirmed_end, int) and about.confirmed_end <= about.as_of:
        text += f"; not confirmed from offset {about.confirmed_end} on"
    return f"{text} (the log holds {about.history_start} to {about.log_end - 1})"


def left_out_text(left_out: "Sequence[LeftOut]") -> str:
    """Return a text about the records that were left out; empty if there are none.

    The text lists only the first few records.
    """
    if not left_out:
        return ""
    shown = [f"offset {each.offset} ({each.type}: {each.text})" for each in left_out[:_SHOWN_MAX]]
    more = len(left_out) - len(shown)
    if more:
        shown.append(f"{more:,} more, which --json lists")
    return (
        f"{count_text(len(left_out), 'record')} left out, contradicting the state before: "
        f"{', '.join(shown)}"
    )


def not_understood_text(about: "About | Known") -> str:
    """Return a text such as `2 records not understood, the first at offset 3`; empty for none."""
    found = about.not_understood
    if not found:
        return ""
    first = found.first_offset
    since = "before the kept history" if first is None else f"at offset {first}"
    return f"{count_text(found.records, 'record')} not understood, the first {since}"


def _print_brokers(found: "Overview") -> None:
    rows = [
        (
            line.broker,
            "fenced" if line.is_fenced else "active",
            line.rack,
            line.leads,
            line.replicas,
            ", ".join(line.listeners),
        )
        for line in found.brokers
    ]
    if rows:
        print_table(("broker", "state", "rack", "leads", "replicas", "listeners"), rows)


def _print_topics(found: "Overview") -> None:
    rows = [
        (
            line.name,
            line.partitions,
            line.leaderless or "",
            " ".join(f"{key}={value}" for key, value in line.configs.items()),
        )
        for line in found.topics
    ]
    if rows:
        print_line()
        print_table(("topic", "partitions", "leaderless", "configs"), rows)
    more = found.topic_count - len(rows)
    if more > 0:
        print_line(f"... and {more:,} more: --part topics")
