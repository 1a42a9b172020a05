"""The `serve` command: runs a service."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

from api.cli.options.authorizer_options import AccessOptions, authorizer_of
from api.cli.options.listener_options import HttpListenerOptions
from api.cli.options.log_format import use_log_format
from api.cli.options.node_options import (
    Advertise,
    LeaseMs,
    NodeId,
    OwnSettings,
    Shared,
    advertised,
)
from api.cli.options.option_groups import BACKGROUND, BROKERS, LISTENERS
from api.cli.options.parameters import Option, bad_parameter
from api.cli.options.security_options import TlsOptions, with_session_limit
from api.cli.options.server_configs import CONFIG_POLICY, SERVE, TOPIC_POLICY
from api.cli.options.server_options import ServerOptions
from api.cli.parser.quick import command
from api.cli.service.policies import policy_of
from api.cli.source.arguments import Json, Log
from api.cli.terminal import event_loop
from api.cli.terminal.output import print_json_line, print_line
from api.cli.terminal.progress_bar import progress

if TYPE_CHECKING:
    from api.nodes.options import NodeOptions
    from api.server import Ready

_DEFAULT_KAFKA = ["127.0.0.1:9092"]
# Replayed in about two seconds at the next start.
_SNAPSHOT_EVERY = 100_000
_SNAPSHOT_KEEP = 10

_Kafka = Annotated[
    list[str],
    Option(
        "--kafka",
        metavar="ADDRESS",
        help="Listener for Kafka clients: [NAME=][PROTOCOL://][HOST]:PORT with "
        "plaintext (the default), ssl, sasl_plaintext or sasl_ssl; port 0 means "
        "any free port; repeatable.",
        rich_help_panel=LISTENERS,
    ),
]
_Socket = Annotated[
    str | None,
    Option(
        "--socket",
        metavar="ADDRESS",
        help="Socket for appends: [PROTOCOL://][HOST]:PORT as for --kafka, or "
        "unix:PATH; default: none.",
        rich_help_panel=LISTENERS,
    ),
]
_Http = Annotated[
    str | None,
    Option(
        "--http",
        metavar="ADDRESS",
        help="HTTP listener: HOST:PORT, https://HOST:PORT or unix:PATH; default: none.",
        rich_help_panel=LISTENERS,
    ),
]
_SessionTimeoutMs = Annotated[
    int,
    Option(
        help="Time without heartbeats after which a broker is fenced.",
        min=1,
        rich_help_panel=BROKERS,
        metavar="MS",
    ),
]
_RetryMs = Annotated[
    int,
    Option(
        help="Delay before an operation that failed on a broker is retried.",
        min=1,
        rich_help_panel=BROKERS,
        metavar="MS",
    ),
]
_ControllerListener = Annotated[
    str | None,
    Option(
        "--controller-listener",
        metavar="NAME",
        help="Write this leader into the log as a voter, for brokers of Kafka whose "
        "controller.listener.names begins with NAME; default: only if the log has voters.",
        show_default=False,
        rich_help_panel=BROKERS,
    ),
]
_SnapshotEvery = Annotated[
    int,
    Option(
        "--snapshot-every",
        metavar="N",
        help="Number of records between two snapshots; 0: make no snapshots.",
        min=0,
        rich_help_panel=BACKGROUND,
    ),
]
_SnapshotKeep = Annotated[
    int,
    Option(
        "--snapshot-keep",
        metavar="N",
        help="Keep only the newest N of the snapshots that the service makes; 0: keep all.",
        min=0,
        rich_help_panel=BACKGROUND,
    ),
]
_SqlHistory = Annotated[
    str | None,
    Option(
        "--sql-history",
        metavar="URL",
        help="Keep the history in this database; default: LOG/history.db.",
        show_default=False,
        rich_help_panel=BACKGROUND,
    ),
]
_Archive = Annotated[
    str | None,
    Option(
        "--archive",
        metavar="DEST",
        help="Copy sealed segments to this directory, or s3://bucket/prefix.",
        rich_help_panel=BACKGROUND,
    ),
]
_Retain = Annotated[
    str | None,
    Option(
        "--retain",
        metavar="AGE",
        help="Drop archived history older than this, such as 30d; default: keep all.",
        show_default=False,
        rich_help_panel=BACKGROUND,
    ),
]
_UpkeepEveryS = Annotated[
    int,
    Option(
        "--upkeep-every-s",
        metavar="S",
        help="Seconds between two runs of --archive and --retain.",
        min=1,
        rich_help_panel=BACKGROUND,
    ),
]


@command()
def serve(
    log: Log,
    kafka: _Kafka = _DEFAULT_KAFKA,
    socket: _Socket = None,
    http: _Http = None,
    *,
    web: HttpListenerOptions,
    shared: Shared = None,
    node: NodeId = None,
    lease_ms: LeaseMs = 3_000,
    advertise: Advertise = None,
    own_settings: OwnSettings = False,
    session_timeout_ms: _SessionTimeoutMs = 9_000,
    retry_ms: _RetryMs = 1_000,
    controller_listener: _ControllerListener = None,
    snapshot_every: _SnapshotEvery = _SNAPSHOT_EVERY,
    snapshot_keep: _SnapshotKeep = _SNAPSHOT_KEEP,
    sql_history: _SqlHistory = None,
    archive: _Archive = None,
    retain: _Retain = None,
    upkeep_every_s: _UpkeepEveryS = 600,
    tls: TlsOptions,
    server: ServerOptions,
    access: AccessOptions,
    json: Json = False,
) -> None:
    """Run the service: write a log and answer over the network, until SIGTERM."""
    from api.nodes.options import NodeOptions
    from api.server import ServeOptions, serve_node_until_stopped, serve_until_stopped
    from api.socket.options import parse_socket
    from api.upkeep.upkeep import UpkeepOptions
    from controller.decisions.context.context import Settings
    from controller.decisions.security.tokens import SECRET_KEY
    from metadata_log.writer.cut_off_log import seen_end
    from replay.time_travel.points import age_in

    if web.http_tokens is not None and http is None:
        raise bad_parameter("HTTP tokens need --http", param_hint="--http-tokens")
    if archive == "":
        raise bad_parameter(
            "the path is empty; write . for the working directory", param_hint="--archive"
        )
    if retain is not None and age_in(retain) is None:
        raise bad_parameter(f"{retain!r} is not an age such as 30d", param_hint="--retain")
    if (shared is None) != (node is None):
        raise bad_parameter("--shared and --node go together", param_hint="--node")
    use_log_format(access.log_format)
    security = tls.security(server.mechanism)
    listeners = server.listeners(kafka, security)
    configs = access.configs(SERVE, server.config)
    security = with_session_limit(security, configs)
    token_key = server.token_key()
    if token_key is not None:
        configs[SECRET_KEY] = token_key
    options = ServeOptions(
        log=log,
        kafka=listeners,
        security=security,
        socket=None if socket is None else parse_socket(socket, security),
        http=None if http is None else web.listener(http, security),
        strict_modes=server.strict_modes,
        retry_ms=retry_ms,
        controller_listener=controller_listener,
        snapshot_every=snapshot_every,
        snapshot_keep=snapshot_keep,
        sql_history=sql_history,
        upkeep=UpkeepOptions(archive=archive, retain=retain, every_s=upkeep_every_s),
        shared=shared,
        node=NodeOptions(
            node_id=node or 0,
            lease_ms=lease_ms,
            own_settings=own_settings,
            shared=shared or "",
            addresses=advertised(
                advertise or [], {"kafka": kafka[0], "http": http, "socket": socket}
            ),
        ),
        settings=Settings(
            session_timeout_ms=session_timeout_ms,
            static_configs=configs,
            authorizer=authorizer_of(access.authorizer, configs),
            topic_policy=policy_of(configs, TOPIC_POLICY),
            config_policy=policy_of(configs, CONFIG_POLICY),
        ),
    )

    loading = ExitStack()

    def ready(running: "Ready") -> None:
        loading.close()
        if json:
            print_json_line(running)
        else:
            print_line(_ready_text(running))
        sys.stdout.flush()

    if shared is not None:
        event_loop.run_long(
            serve_node_until_stopped(options, ready, _standby_text(options.node, json))
        )
        return
    with loading:
        log_end = seen_end(log).mark.end_offset
        loaded = loading.enter_context(progress("loading", 0, log_end))
        event_loop.run_long(serve_until_stopped(options, ready, loaded))


def _standby_text(node: "NodeOptions", json: bool) -> "Callable[[Ready], None]":
    def stands_by(running: "Ready") -> None:
        from api.documents.nodes import StandsBy

        if json:
            print_json_line(
                StandsBy(
                    node=node.node_id,
                    log_end=running.log_end,
                    kafka=running.kafka,
                    socket=running.socket,
                    http=running.http,
                )
            )
        else:
            print_line(
                f"node {node.node_id} stands by: {_addresses_text(running)}, "
                f"log end {running.log_end}"
            )
        sys.stdout.flush()

    return stands_by


def _ready_text(running: "Ready") -> str:
    return (
        f"serving {running.log}: {_addresses_text(running)}, "
        f"leader epoch {running.leader_epoch}, log end {running.log_end}"
    )


def _addresses_text(running: "Ready") -> str:
    socket = f", socket {running.socket}" if running.socket else ""
    web = f", http {running.http}" if running.http else ""
    listeners = ", ".join(running.listeners or (running.kafka,))
    return f"kafka {listeners}{socket}{web}"
