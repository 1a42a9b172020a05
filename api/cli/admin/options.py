"""Arguments and options that several admin verbs share."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.asking import log_path

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
    ),
]

Principal = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="PRINCIPAL",
        help="Who asks: with --log by default User:$USER; with --server an identity to take.",
    ),
]

Reason = Annotated[str | None, typer.Option("--reason", help="Why; written beside the records.")]

RequestId = Annotated[
    str | None,
    typer.Option(
        "--request-id",
        metavar="ID",
        help="Ask again with the same id when no answer came: the change is made once.",
    ),
]

TraceParent = Annotated[
    str | None,
    typer.Option(
        "--trace-parent",
        metavar="TRACEPARENT",
        help="The W3C trace this belongs to; default $TRACEPARENT.",
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
    typer.Argument(metavar="TOPIC...", help="Names, or @ID each.", show_default=False),
]

Configs = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="NAME=VALUE", help="A config to set; repeatable."),
]

Placement = Annotated[
    str | None,
    typer.Option("--placement", help="balanced, striped, classic or classic-rack-unaware."),
]
