"""The command line and the services.

The names below are public, as listed in `docs/library.md`. They are imported on first use only.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from api.admin.admin import Admin as Admin
    from api.admin.local import LocalAdmin as LocalAdmin
    from api.clients.blocking_client import BlockingClient as BlockingClient
    from api.clients.client import MetadataClient as MetadataClient
    from api.clients.reconnecting_client import ReconnectingClient as ReconnectingClient
    from api.clients.service_url import connect as connect
    from api.requests.commands import COMMANDS as COMMANDS
    from api.requests.transactions import Step as Step
    from api.requests.transactions import Transact as Transact
    from api.server import ServeOptions as ServeOptions
    from api.server import Serving as Serving
    from api.server import serving as serving
    from api.service.service import Service as Service
    from api.service.session import Session as Session
    from api.socket.client import SocketClient as SocketClient
else:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "admin.admin": "Admin",
            "admin.local": "LocalAdmin",
            "clients.blocking_client": "BlockingClient",
            "clients.client": "MetadataClient",
            "requests.commands": "COMMANDS",
            "clients.service_url": "connect",
            "clients.reconnecting_client": "ReconnectingClient",
            "server": "ServeOptions Serving serving",
            "service.service": "Service",
            "service.session": "Session",
            "socket.client": "SocketClient",
            "requests.transactions": "Step Transact",
        },
    )
