"""Arguments and options that several admin verbs share."""

from pathlib import Path
from typing import Annotated

from api.cli.options.parameters import Argument, Option
from api.cli.source.source import log_path, server_url

LogOption = Annotated[
    Path | None,
    Option(
        "--log",
        metavar="LOG",
        help="Log directory, of which this process becomes the only writer; default: $METALOG_LOG.",
        parser=log_path,
    ),
]

ReadLogOption = Annotated[
    Path | None,
    Option(
        "--log",
        metavar="LOG",
        help="Log directory, which is only read; default: $METALOG_LOG.",
        parser=log_path,
    ),
]

ServerOption = Annotated[
    str | None,
    Option(
        "--server",
        metavar="URL",
        help="A running service, as kafka://HOST:PORT or socket://HOST:PORT; default: "
        "$METALOG_SERVER.",
        parser=server_url,
    ),
]

Principal = Annotated[
    str | None,
    Option(
        "--as",
        metavar="PRINCIPAL",
        help="Principal of the request. With --log, the default is User:$USER; with --server, the "
        "principal to act as.",
    ),
]

Reason = Annotated[
    str | None, Option("--reason", help="Reason for the change, stored with the records.")
]

RequestId = Annotated[
    str | None,
    Option(
        "--request-id",
        metavar="ID",
        help="Id of the request: sent again with the same id, it takes effect only once.",
    ),
]

TraceParent = Annotated[
    str | None,
    Option(
        "--trace-parent",
        metavar="TRACEPARENT",
        help="W3C trace context of the request; default: $TRACEPARENT.",
    ),
]

NamespaceOption = Annotated[
    str, Option("--namespace", metavar="NS", help="The namespace that holds the topics.")
]

ValidateOnly = Annotated[
    bool, Option("--validate-only", help="Check and answer, but write nothing.")
]

TopicNames = Annotated[
    list[str],
    Argument(metavar="TOPIC...", help="Topics, each by name or @ID.", show_default=False),
]

Configs = Annotated[
    list[str] | None,
    Option("--config", metavar="NAME=VALUE", help="A config to set; repeatable."),
]

Placement = Annotated[
    str | None,
    Option(
        "--placement",
        help="How replicas are placed on brokers: balanced, striped, classic or "
        "classic-rack-unaware.",
    ),
]
