"""Arguments and options that several admin verbs share."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.asking import log_path, server_url

LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="LOG",
        help="Log directory, of which this process becomes the only writer; else METALOG_LOG.",
        parser=log_path,
    ),
]

ReadLogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="LOG",
        help="Log directory, which is only read; else METALOG_LOG.",
        parser=log_path,
    ),
]

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="A running service, as kafka://HOST:PORT or socket://HOST:PORT; else METALOG_SERVER.",
        parser=server_url,
    ),
]

Principal = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="PRINCIPAL",
        help="Principal of the request: with --log by default User:$USER; with "
        "--server an identity to act as.",
    ),
]

Reason = Annotated[
    str | None, typer.Option("--reason", help="Reason for the change, stored with the records.")
]

RequestId = Annotated[
    str | None,
    typer.Option(
        "--request-id",
        metavar="ID",
        help="Id of the request: sent again with the same id, it takes effect only once.",
    ),
]

TraceParent = Annotated[
    str | None,
    typer.Option(
        "--trace-parent",
        metavar="TRACEPARENT",
        help="The W3C trace of the request; default $TRACEPARENT.",
    ),
]

NamespaceOption = Annotated[
    str, typer.Option("--namespace", metavar="NS", help="The namespace that holds the topics.")
]

ValidateOnly = Annotated[
    bool, typer.Option("--validate-only", help="Check and answer, but write nothing.")
]

TopicNames = Annotated[
    list[str],
    typer.Argument(metavar="TOPIC...", help="Names or @ID.", show_default=False),
]

Configs = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="NAME=VALUE", help="A config to set; repeatable."),
]

Placement = Annotated[
    str | None,
    typer.Option("--placement", help="balanced, striped, classic or classic-rack-unaware."),
]
