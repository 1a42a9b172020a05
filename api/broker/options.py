"""Options of a broker."""

from pathlib import Path

import msgspec

from api.security.client import ClientSecurity
from api.security.listeners import LOCAL, ListenerAddress
from api.security.options import SecurityOptions
from controller.authorization.authorizer import ALLOW_ALL, Authorizer


class BrokerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a broker. A listener with port 0 gets a port that the system chooses.

    Clients are sent to `advertised_host` instead of the hosts of the listeners. `between_brokers`
    is the name of the listener that other brokers use; None: the first listener. `token_key` is the
    cluster's `delegation.token.secret.key`.

    `client` has the broker's credentials for the service and for other brokers. `cluster_id` is the
    only cluster that the broker joins; None: that of the service.
    `delete_stale_delay_ms` is used if the log sets no value; None: the controller's static config,
    or the default.
    """

    server: str
    broker_id: int
    listeners: tuple[ListenerAddress, ...] = (LOCAL,)
    advertised_host: str | None = None
    between_brokers: str | None = None
    security: SecurityOptions = SecurityOptions()
    token_key: str | None = None
    log_dirs: tuple[Path, ...]
    rack: str | None = None
    heartbeat_ms: int = 2_000
    replica_lag_ms: int = 30_000
    delete_stale_delay_ms: int | None = None
    strict_modes: bool = False
    auto_create_topics: bool = False
    authorizer: Authorizer = ALLOW_ALL
    client: ClientSecurity = ClientSecurity()
    cluster_id: str | None = None
