"""The `broker` command: runs a reference broker."""

import sys
from pathlib import Path
from typing import Annotated

from api.cli.options.authorizer_options import AccessOptions, authorizer_of
from api.cli.options.log_format import use_log_format
from api.cli.options.option_groups import BROKERS, LISTENERS, SECURITY
from api.cli.options.parameters import Option
from api.cli.options.security_options import TlsOptions, client_security, with_session_limit
from api.cli.options.server_configs import BROKER
from api.cli.options.server_options import ServerOptions
from api.cli.parser.quick import command
from api.cli.source.arguments import Json
from api.cli.source.source import server_url
from api.cli.terminal import event_loop
from api.cli.terminal.output import print_json_line, print_line

_DEFAULT_LISTEN = ["127.0.0.1:0"]

_Server = Annotated[
    str,
    Option(
        "--server",
        metavar="URL",
        help="The service: kafka://, ssl://, sasl_plaintext:// or sasl_ssl://HOST:PORT.",
        parser=server_url,
    ),
]
_BrokerId = Annotated[int, Option("--id", metavar="N", help="Id of this broker.", min=0)]
_LogDir = Annotated[
    list[Path],
    Option("--log-dir", metavar="DIR", help="Directory for the data of partitions; repeatable."),
]
_Listen = Annotated[
    list[str],
    Option(
        "--listen",
        metavar="ADDRESS",
        help="Listener for clients: [NAME=][PROTOCOL://][HOST]:PORT, as --kafka of "
        "`serve`; port 0 means any free port; repeatable.",
        rich_help_panel=LISTENERS,
    ),
]
_BetweenBrokers = Annotated[
    str | None,
    Option(
        "--between-brokers",
        metavar="NAME",
        help="The listener that other brokers use; default: the first.",
        show_default=False,
        rich_help_panel=LISTENERS,
    ),
]
_Advertise = Annotated[
    str,
    Option(
        "--advertise",
        metavar="HOST",
        help="Host name that clients are told to connect to.",
        rich_help_panel=LISTENERS,
    ),
]
_ClusterId = Annotated[
    str | None,
    Option(
        "--cluster-id",
        metavar="ID",
        help="Id of the cluster to join: the broker does not start if the service is of another "
        "cluster.",
        show_default=False,
        rich_help_panel=BROKERS,
    ),
]
_Rack = Annotated[
    str | None,
    Option(metavar="NAME", help="The broker's rack.", rich_help_panel=BROKERS),
]
_HeartbeatMs = Annotated[
    int,
    Option(help="Time between heartbeats.", min=1, rich_help_panel=BROKERS, metavar="MS"),
]
_ReplicaLagMs = Annotated[
    int,
    Option(
        help="Time that a follower may lag before it leaves the ISR.",
        min=1,
        rich_help_panel=BROKERS,
        metavar="MS",
    ),
]
_DeleteStaleDelayMs = Annotated[
    int | None,
    Option(
        help="Delay before the folders of stale partitions (moved to `deleting/`) are deleted; "
        "used if the log does not set delete.stale.topic.delay.ms; default 14400000.",
        min=0,
        rich_help_panel=BROKERS,
        metavar="MS",
    ),
]
_AutoCreateTopics = Annotated[
    bool,
    Option(
        "--auto-create-topics",
        help="Create topics that clients request in Metadata and that do not exist.",
        rich_help_panel=BROKERS,
    ),
]
_User = Annotated[
    str | None,
    Option(
        "--user",
        metavar="NAME",
        help="User as which the broker logs in to the service and other brokers.",
        rich_help_panel=SECURITY,
    ),
]
_PasswordFile = Annotated[
    Path | None,
    Option(
        "--password-file",
        metavar="FILE",
        help="File with the user's password, for SCRAM-SHA-512.",
        rich_help_panel=SECURITY,
    ),
]


@command()
def broker(
    server: _Server,
    broker_id: _BrokerId,
    log_dir: _LogDir,
    listen: _Listen = _DEFAULT_LISTEN,
    between_brokers: _BetweenBrokers = None,
    advertise: _Advertise = "",
    cluster_id: _ClusterId = None,
    rack: _Rack = None,
    heartbeat_ms: _HeartbeatMs = 2_000,
    replica_lag_ms: _ReplicaLagMs = 30_000,
    delete_stale_delay_ms: _DeleteStaleDelayMs = None,
    auto_create_topics: _AutoCreateTopics = False,
    user: _User = None,
    password_file: _PasswordFile = None,
    *,
    tls: TlsOptions,
    serving: ServerOptions,
    access: AccessOptions,
    json: Json = False,
) -> None:
    """Run the reference broker; SIGTERM hands its leaderships over first."""
    from api.broker.options import BrokerOptions
    from api.broker.process import Ready, run_broker_until_stopped

    use_log_format(access.log_format)
    security = tls.security(serving.mechanism)
    addresses = serving.listeners(listen, security)
    token_key = serving.token_key()
    configs = access.configs(BROKER, serving.config)
    options = BrokerOptions(
        server=server,
        broker_id=broker_id,
        listeners=addresses,
        advertised_host=advertise or None,
        between_brokers=between_brokers,
        security=with_session_limit(security, configs),
        client=client_security(tls.files(), user, password_file),
        token_key=token_key,
        log_dirs=tuple(log_dir),
        cluster_id=cluster_id,
        rack=rack,
        heartbeat_ms=heartbeat_ms,
        replica_lag_ms=replica_lag_ms,
        delete_stale_delay_ms=delete_stale_delay_ms,
        strict_modes=serving.strict_modes,
        auto_create_topics=auto_create_topics,
        authorizer=authorizer_of(access.authorizer, configs),
    )

    def ready(running: Ready) -> None:
        if json:
            print_json_line(running)
        else:
            listeners = ", ".join(running.listeners or (running.listen,))
            print_line(
                f"broker {running.broker} serves at {listeners}, "
                f"broker epoch {running.broker_epoch}"
            )
        sys.stdout.flush()

    event_loop.run_long(run_broker_until_stopped(options, ready))
