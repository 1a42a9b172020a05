"""Brokers: list, describe, wait for, register, fence, unfence, unregister."""

import random
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from api.cli.admin.admin_client import AdminClient, Item, One
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.typer_app import App
from api.cli.terminal.output import fields_of, print_json, print_line, print_table, value_text
from metadata_log.files.fs import OsFs
from records.brokers import BrokerEndpoint, BrokerFeature
from records.errors import UnavailableError

if TYPE_CHECKING:
    from api.documents.brokers import BrokerList, OneBroker
    from controller.descriptions.brokers import BrokerDescription

app = App()

_ID_MAX = 2**31 - 1
_PLAINTEXT = 0
_PORT_MAX = 65_535
# Brokers report their applied offset with each heartbeat, about every two seconds.
_ASK_EVERY_S = 0.5
# How long one answer may take, even past the deadline, so that there is at least one.
_ANSWER_WITHIN_S = 5.0
_LISTENER = re.compile(r"(?:([A-Z0-9_]+)://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")

_Id = Annotated[
    int,
    Argument(metavar="ID", min=0, max=_ID_MAX, help="The broker's id.", show_default=False),
]
_Ids = Annotated[
    list[int],
    Argument(metavar="ID...", min=0, max=_ID_MAX, help="Ids of brokers.", show_default=False),
]


@reading(app, "list")
def list_(look: Look) -> None:
    """List brokers, with how many partitions each leads and holds."""
    from controller.descriptions.brokers import ListBrokers

    look.show("brokers list", ListBrokers(), _print_brokers)


def _print_brokers(found: "BrokerList") -> None:
    print_table(
        ("broker", "state", "rack", "leads", "replicas", "listeners"),
        [
            (b.broker, b.state, b.rack, b.leads, b.replicas, ", ".join(b.listeners))
            for b in found.brokers
        ],
    )


@reading(app)
def describe(look: Look, broker_id: _Id) -> None:
    """Describe one broker's registration."""
    from controller.descriptions.brokers import DescribeBroker

    with look.explaining(DescribeBroker(broker_id)):
        look.show("brokers describe", broker_id, _print_broker)


def _print_broker(found: "OneBroker") -> None:
    for name, value in fields_of(found.broker).items():
        print_line(f"{name.replace('_', ' '):<24}{value_text(value)}")


@reading(app)
def wait(
    look: Look,
    offset: Annotated[int, Argument(metavar="OFFSET", min=0, show_default=False)],
    within: Annotated[
        float,
        Option(metavar="SECONDS", min=0, help="Longest time to wait; after that time, exit 4."),
    ] = 30.0,
) -> None:
    """Wait until every active broker of a service has applied an offset.

    If the offset is that of a change, all active brokers use the change when the command ends.
    """
    from api.documents.brokers import Broker, BrokersWaited
    from controller.descriptions.brokers import ListBrokers

    if look.server is None:
        raise bad_parameter("a log does not record what brokers have applied; use --server URL")
    deadline = time.monotonic() + within
    while True:
        left_s = max(deadline - time.monotonic(), _ANSWER_WITHIN_S)
        found, about = look.answer("brokers list", ListBrokers(), within_s=left_s)
        active = [known for known in found if not known.broker.fenced]
        behind = [known for known in active if not _has_applied(known, offset)]
        is_committed = offset < about.log_end
        if is_committed and not behind:
            break
        if time.monotonic() >= deadline:
            some = ", ".join(_how_far(known) for known in behind)
            why = f"applied everywhere: {some}"
            if not is_committed:
                why = f"committed, the log ends at {about.log_end}"
            raise UnavailableError(f"offset {offset} is not {why}; try again")
        time.sleep(_ASK_EVERY_S)
    if look.json:
        print_json(about, BrokersWaited(offset=offset, brokers=tuple(map(Broker.of, active))))
    else:
        print_line(f"applied by all {len(active)} active brokers: offset {offset}")


@changing(app)
def register(
    ask: AdminClient,
    broker_id: _Id,
    listener: Annotated[
        list[str] | None,
        Option(metavar="[NAME://]HOST:PORT", help="Address of a listener; repeatable."),
    ] = None,
    rack: Annotated[str | None, Option(help="Rack of the broker.")] = None,
) -> int:
    """Register a broker, fenced, without its process; a known broker gets a new incarnation."""
    from api.documents.changes import BrokerNamed
    from controller.decisions.brokers.registrations import RegisterBroker
    from controller.decisions.ids import new_id
    from controller.decisions.levels import SUPPORTED_LEVELS

    if ask.log is None:
        raise bad_parameter(
            "brokers register themselves with a running service; to register one in a log, use "
            "--log LOG"
        )
    # A retry must be the same request.
    known = None if ask.request_id is None else f"{ask.request_id}/{broker_id}"
    rng = secrets.SystemRandom() if known is None else random.Random(known)
    request = RegisterBroker(
        broker_id=broker_id,
        cluster_id=_cluster_id(ask),
        incarnation_id=new_id(rng),
        end_points=tuple([_end_point(text) for text in listener or []]),
        features=tuple(
            [
                BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED_LEVELS.items()
            ]
        ),
        rack=rack,
        log_dirs=(new_id(rng),),
    )
    result = ask.run("brokers register", request)
    epoch = result.response.broker_epoch
    item = Item(
        answer=BrokerNamed(broker=broker_id, broker_epoch=epoch),
        lines=(f"registered broker {broker_id}, epoch {epoch}; it is fenced until unfenced",),
    )
    return ask.report(result, [item])


@changing(app)
def fence(ask: AdminClient, broker_ids: _Ids) -> int:
    """Fence brokers: they lose their leaderships to other brokers and leave every ISR."""
    return _set_fencing(ask, broker_ids, fenced=True)


@changing(app)
def unfence(ask: AdminClient, broker_ids: _Ids) -> int:
    """Unfence brokers, so that they serve again."""
    return _set_fencing(ask, broker_ids, fenced=False)


@changing(app)
def unregister(ask: AdminClient, broker_ids: _Ids) -> int:
    """Remove brokers' registrations for good."""
    requests = [(i, i) for i in broker_ids]
    return _each(ask, "brokers unregister", requests, lambda response: "unregistered")


def _set_fencing(ask: AdminClient, broker_ids: list[int], *, fenced: bool) -> int:
    from controller.decisions.brokers.fencing import SetFencing

    if ask.log is None:
        raise bad_parameter(
            "a service's brokers request their own state in heartbeats; use --log LOG"
        )
    requests = [(i, SetFencing(broker_id=i, fenced=fenced)) for i in broker_ids]
    return _each(
        *(ask, "brokers fence", requests),
        lambda reply: "fenced" if reply.is_fenced else "active",
    )


def _each(
    ask: AdminClient, verb: str, requests: Sequence[tuple[int, Any]], line: Callable[[Any], str]
) -> int:
    """Carry out requests, each with the id of its broker."""
    from api.documents.changes import BrokerNamed

    wanted = [
        One(request=request, answer=BrokerNamed(broker=i), what=f"broker {i}", line=line)
        for i, request in requests
    ]
    return ask.each(verb, wanted)


def _has_applied(known: "BrokerDescription", offset: int) -> bool:
    return known.applied_offset is not None and known.applied_offset >= offset


def _how_far(known: "BrokerDescription") -> str:
    at = "unknown" if known.applied_offset is None else f"at {known.applied_offset}"
    return f"broker {known.broker.broker_id} {at}"


def _end_point(text: str) -> "BrokerEndpoint":
    found = _LISTENER.fullmatch(text)
    if found is None or int(found[3]) > _PORT_MAX:
        raise bad_parameter(f"{text!r} is not a listener; write PLAINTEXT://HOST:PORT")
    return BrokerEndpoint(
        name=found[1] or "PLAINTEXT",
        host=found[2],
        port=int(found[3]),
        security_protocol=_PLAINTEXT,
    )


def _cluster_id(ask: AdminClient) -> str:
    from metadata_log.format.manifest import read_manifest

    assert ask.log is not None, "a broker is registered in a log"
    return read_manifest(OsFs(), ask.log).cluster_id
