"""The `doctor` command: shows what prevents the recording of a cluster over the network."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Option
from api.cli.parser.quick import command
from api.cli.source.arguments import Controllers, Json, MappedControllers
from api.cli.terminal.errors import DONE, FOUND, reads_only
from api.cli.terminal.output import print_json, print_line, time_text
from api.cli.terminal.prose import print_prose

if TYPE_CHECKING:
    from api.cli.kafka.controller_access import Attempt
    from api.clients.client import ServerAddress
    from api.documents.quorums import Examined, ExaminedController, ExaminedLog
    from api.security.client import ClientSecurity
    from api.transport.probe import Reach

_PROBE_S = 3.0
_TO_GUARD = (
    "Guard the reader's key or password: the right to read the log is the one to register brokers. "
    "And guard the mirror: it has the SCRAM verifiers and the secrets of delegation tokens."
)
_NO_RIGHT = "CLUSTER_AUTHORIZATION_FAILED"


@command()
@reads_only
def doctor(
    quorum: Controllers,
    cluster_id: Annotated[
        str | None,
        Option("--cluster-id", metavar="ID", help="The id that the cluster should have."),
    ] = None,
    mapped: MappedControllers = None,
    json: Json = False,
) -> int:
    """Show what stands in the way of `import kafka://...`; exit 1 if anything does.

    Asks each controller, and reads from the leader for three seconds. Nothing is written, neither
    here nor in the cluster. If the address looks like one of Strimzi's or of another operator for
    Kubernetes, it prints the lines that let a reader in.
    """
    import asyncio

    from api.clients.client import server_addresses

    found = asyncio.run(_examined(server_addresses(quorum), cluster_id, mapped or ()))
    if json:
        print_json(found)
    else:
        _print(found)
    return DONE if found.ready else FOUND


async def _examined(
    addresses: "Sequence[ServerAddress]", cluster_id: str | None, mapped: Sequence[str]
) -> "Examined":
    from msgspec.structs import replace

    from api.cli.log.quorum_import import mapped_addresses, security_of
    from api.quorum.doctor import examine

    found = await examine(
        [(each.host, each.port) for each in addresses],
        security_of(addresses[0]),
        cluster_id=cluster_id,
        mapped=mapped_addresses(mapped),
        watch_s=3.0,
    )
    if found.ready:
        return found
    from api.cli.kafka.controller_access import advice_of

    return replace(found, advice=advice_of(await _attempts(found, addresses)))


async def _attempts(found: "Examined", addresses: "Sequence[ServerAddress]") -> "Sequence[Attempt]":
    """Return how reading from each controller with a problem went; connects to them again."""
    import asyncio

    from api.cli.kafka.controller_access import Attempt
    from api.security.client import ClientSecurity

    security = ClientSecurity.of_environment()

    async def attempt(at: "ServerAddress", controller: "ExaminedController") -> Attempt:
        return Attempt(
            host=at.host,
            port=at.port,
            protocol=at.protocol,
            has_certificate=security.tls.certificate is not None,
            reach=await _reach(at, security) if controller.release is None else None,
            lacks_right=_NO_RIGHT in (controller.problem or ""),
        )

    pairs = zip(addresses, found.controllers, strict=True)
    return await asyncio.gather(*[attempt(*each) for each in pairs if each[1].problem is not None])


async def _reach(at: "ServerAddress", security: "ClientSecurity") -> "Reach | None":
    """Return how far a connection gets; None if there is an answer of Kafka's protocol."""
    from api.quorum.controller import Controller
    from api.transport.probe import Reach, reach
    from records.errors import RequestError, UnavailableError

    found = await reach(at.host, at.port, _PROBE_S)
    if found is not Reach.OPEN:
        return found
    try:
        used = security.used_with(at.protocol)
        await (await Controller.open(at.host, at.port, used, _PROBE_S)).close()
    except RequestError:
        return None
    except UnavailableError:
        return await reach(at.host, at.port, _PROBE_S, offer_tls=True)
    return None


def _print(found: "Examined") -> None:
    for each in found.controllers:
        release = "" if each.release is None else f"Kafka {each.release}"
        leader = "" if each.leader_id is None else f", says that node {each.leader_id} leads"
        print_line(f"{each.address}: {release}{leader}" if release else f"{each.address}:")
        if each.problem is not None:
            print_prose("    ", each.problem)
    if found.problem is not None and any(each.problem is None for each in found.controllers):
        print_prose("the log cannot be read: ", found.problem)
    if found.log is not None:
        _print_log(found.log)
    for advice in found.advice:
        print_line("")
        print_prose("", advice.text)
        for line in advice.lines:
            print_line(line)


def _print_log(log: "ExaminedLog") -> None:
    start = f"{'the snapshot at ' if log.starts_from_snapshot else ''}offset {log.mirror_start}"
    print_line(f"the log can be read from {log.address}, a new mirror starts from {start}")
    since = log.log_start_timestamp
    since_text = "" if since is None else f", since {time_text(since)}"
    print_line(f"  kept: offsets {log.log_start} to {log.log_end - 1}{since_text}")
    growth = f"{log.bytes_per_day / 1e6:,.1f} MB a day at the rate of now"
    print_line(f"  grows by {growth}, a mirror by a quarter to half of that")
    print_prose("", _TO_GUARD)
