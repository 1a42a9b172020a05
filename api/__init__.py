"""The command line and the services.

The names below are public, as listed in `docs/library.md`. They are imported on first use only.
"""

from records.exports import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from api.admin.admin import Admin as Admin
    from api.admin.local import LocalAdmin as LocalAdmin
    from api.blocking import BlockingClient as BlockingClient
    from api.client import MetadataClient as MetadataClient
    from api.commands import COMMANDS as COMMANDS
    from api.connecting import connect as connect
    from api.reconnecting import ReconnectingClient as ReconnectingClient
    from api.running import ServeOptions as ServeOptions
    from api.running import Serving as Serving
    from api.running import serving as serving
    from api.service import Service as Service
    from api.session import Session as Session
    from api.socket.client import SocketClient as SocketClient
    from api.transactions import Step as Step
    from api.transactions import Transact as Transact
else:
    __all__, __getattr__ = lazy_exports(
        __name__,
        {
            "admin.admin": "Admin",
            "admin.local": "LocalAdmin",
            "blocking": "BlockingClient",
            "client": "MetadataClient",
            "commands": "COMMANDS",
            "connecting": "connect",
            "reconnecting": "ReconnectingClient",
            "running": "ServeOptions Serving serving",
            "service": "Service",
            "session": "Session",
            "socket.client": "SocketClient",
            "transactions": "Step Transact",
        },
    )
