"""Arguments and options shared by several commands, so that the spelling is the same everywhere."""

from pathlib import Path
from typing import Annotated

from api.cli.options.parameters import Argument, Option
from api.cli.source.source import Source, log_path, log_place, quorum_url, server_url

OFFSET_MAX = 2**63 - 1
"""Largest offset that a record can have."""


Log = Annotated[
    Path,
    Argument(
        metavar="LOG",
        help="Log directory; default: $METALOG_LOG.",
        show_default=False,
        parser=log_path,
    ),
]

LogPlace = Annotated[
    str,
    Argument(
        metavar="LOG",
        help="Log directory, or s3://bucket/prefix of an archive or backup; default: $METALOG_LOG.",
        show_default=False,
        parser=log_place,
    ),
]

LogOrServer = Annotated[
    Source,
    Argument(
        metavar="LOG",
        help="Log directory, or s3://bucket/prefix of an archive or backup; default: "
        "$METALOG_LOG. Do not combine LOG with --server.",
        show_default=False,
        parser=Source.parse,
    ),
]

Server = Annotated[
    str | None,
    Option(
        "--server",
        metavar="URL",
        help="A running service that answers in place of LOG, such as kafka://HOST:PORT; default: "
        "$METALOG_SERVER.",
        parser=server_url,
    ),
]
"""Option --server; `typer_app` puts its value into the command's argument `LogOrServer`."""

IncludeUnconfirmed = Annotated[
    bool,
    Option(
        "--include-unconfirmed",
        help="Include the end of a mirror that Kafka may still replace, marked as not confirmed.",
    ),
]

Json = Annotated[bool, Option("--json", help="Print JSON and nothing else.")]

At = Annotated[
    str,
    Option(
        "--at",
        metavar="POINT",
        help="Offset, `start`, `end`, `now`, RFC 3339 time, 02:00, `yesterday 14:00`, -3h, age "
        "such as 10m, 1h30m, 7d or 1w, or counted back from the end: end-2h, end-100.",
    ),
]

From = Annotated[str, Option("--from", metavar="POINT", help="First point, inclusive.")]

To = Annotated[str, Option("--to", metavar="POINT", help="Last point, inclusive.")]

Until = Annotated[
    str | None,
    Option(
        "--to",
        metavar="POINT",
        help="Last point, inclusive; default: end, or with --server now.",
    ),
]

ShowSecrets = Annotated[bool, Option("--show-secrets", help="Print secrets instead of (redacted).")]

ShowAsked = Annotated[
    bool,
    Option("--asked", help="Also print the request of each decision, beside its first record."),
]

MaskHosts = Annotated[
    bool,
    Option("--mask-hosts", help="Replace host names and addresses by stand-ins such as host-1."),
]

ExpressionText = Annotated[
    str,
    Argument(
        metavar="EXPRESSION",
        help="Expression such as 'topics[\"orders\"].partitions[0].leader == -1'; see "
        "docs/expressions.md.",
        show_default=False,
    ),
]

Controllers = Annotated[
    str,
    Argument(
        metavar="kafka://HOST:PORT,...",
        help="Listeners of the cluster's controllers.",
        parser=quorum_url,
    ),
]

MappedControllers = Annotated[
    list[str] | None,
    Option(
        "--map",
        metavar="ID=HOST:PORT",
        help="Connect to controller ID at this address; repeatable.",
    ),
]

ObjectText = Annotated[
    str,
    Argument(
        metavar="OBJECT",
        help="An object such as topic:orders, partition:@ID/0#leader, config:topic/orders or "
        "broker:1; write a # inside a name as %23.",
        show_default=False,
    ),
]
