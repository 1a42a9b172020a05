"""The `doctor` command: shows what prevents the recording of a cluster over the network."""

from typing import Annotated

from api.cli.options.parameters import Option
from api.cli.parser.quick import command
from api.cli.source.arguments import Controllers, Json, MappedControllers
from api.cli.terminal.errors import DONE, FOUND, reads_only
from api.cli.terminal.output import print_json, print_line, time_text
from api.cli.terminal.prose import print_prose


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
    here nor in the cluster.
    """
    import asyncio

    from api.cli.log.quorum_import import mapped_addresses, security_of
    from api.clients.client import server_addresses
    from api.quorum.doctor import examine

    addresses = server_addresses(quorum)
    found = asyncio.run(
        examine(
            [(each.host, each.port) for each in addresses],
            security_of(addresses[0]),
            cluster_id=cluster_id,
            mapped=mapped_addresses(mapped or ()),
            watch_s=3.0,
        )
    )
    if json:
        print_json(found)
        return DONE if found.ready else FOUND
    for each in found.controllers:
        release = "" if each.release is None else f"Kafka {each.release}"
        leader = "" if each.leader_id is None else f", says that node {each.leader_id} leads"
        print_line(f"{each.address}: {release}{leader}" if release else f"{each.address}:")
        if each.problem is not None:
            print_prose("    ", each.problem)
    if found.problem is not None and any(each.problem is None for each in found.controllers):
        print_prose("the log cannot be read: ", found.problem)
    if found.log is not None:
        log = found.log
        start = f"{'the snapshot at ' if log.starts_from_snapshot else ''}offset {log.mirror_start}"
        print_line(f"the log can be read from {log.address}, a new mirror starts from {start}")
        since = log.log_start_timestamp
        since_text = "" if since is None else f", since {time_text(since)}"
        print_line(f"  kept: offsets {log.log_start} to {log.log_end - 1}{since_text}")
        print_line(f"  grows by {log.bytes_per_day / 1e6:,.1f} MB a day at the rate of now")
    return DONE if found.ready else FOUND
