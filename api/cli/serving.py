"""Running a service, and a broker: serve, broker."""

import sys
from typing import Annotated

import typer

from api.cli.arguments import Json, Log
from api.cli.main import app
from api.cli.output import print_json_line, print_line

_DEFAULT_KAFKA = "127.0.0.1:9092"


@app.command()
def serve(
    log: Log,
    kafka: Annotated[
        str,
        typer.Option("--kafka", metavar="H:P", help="Where Kafka clients connect; port 0: any."),
    ] = _DEFAULT_KAFKA,
    advertise: Annotated[
        str, typer.Option("--advertise", metavar="HOST", help="The host that clients are told.")
    ] = "",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen beyond this machine, to anybody.")
    ] = False,
    strict_modes: Annotated[
        bool,
        typer.Option(
            "--strict-modes", help="Read-only partitions have no leader to clients without modes."
        ),
    ] = False,
    session_timeout_ms: Annotated[
        int, typer.Option(help="Silence after which a broker is fenced.")
    ] = 9_000,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="NAME=VALUE", help="A server-level config, as in a file."),
    ] = None,
    json: Json = False,
) -> None:
    """Run the service: the only writer of a log, asked over the network; stop it with SIGTERM."""
    import asyncio

    from api.addresses import parse_address
    from api.running import ServeOptions, serve_until_stopped
    from controller.decisions.context import Settings

    host, port = parse_address(kafka, allow_remote=allow_remote)
    options = ServeOptions(
        log=log,
        host=host,
        port=port,
        advertised_host=advertise or host,
        strict_modes=strict_modes,
        settings=Settings(
            session_timeout_ms=session_timeout_ms, static_configs=_configs(config or [])
        ),
    )

    def ready(document: dict[str, object]) -> None:
        if json:
            print_json_line(document)
        else:
            print_line(
                f"serving {document['log']}: kafka {document['kafka']}, "
                f"leader epoch {document['leader_epoch']}, log end {document['log_end']}"
            )
        sys.stdout.flush()

    asyncio.run(serve_until_stopped(options, ready))


def _configs(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise typer.BadParameter(f"{name!r} is not NAME=VALUE", param_hint="--config")
    return {name: value for name, _, value in pairs}
