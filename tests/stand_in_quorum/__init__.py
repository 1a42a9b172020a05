"""A quorum of controllers that serves a metadata log, for tests of what reads one over the network.

It answers as Kafka does from release 3.3 to 4.3, and shares no code with the product: a mistake of
one is found by the other. It runs in threads of the test's process, on ports of 127.0.0.1:

    with Quorum(partition, release="3.9", nodes=3, end_offset=100) as quorum:
        run(f"metalog import kafka://{quorum.bootstrap} ... --cluster-id {quorum.cluster_id}")

`partition` is a `__cluster_metadata-0` directory; it is read once and never written. Without
`end_offset` the whole log is served; `high_watermark` is its end unless it is given. Node ids are 1
to `nodes`; 1 leads, in the epoch of the last batch. `quorum.broker` is a port of a broker, which
knows the cluster id (Metadata) and forwards DescribeQuorum.

What a test does:

    quorum.reveal(200)                  append the source's batches below 200, and commit them
    quorum.reveal(300, commit=False)    the same; the high watermark stays
    quorum.commit(250)                  move the high watermark
    quorum.append(batches)              append batches of its own (`log.relabelled` makes them)
    quorum.elect(2, end_offset=280)     node 2 leads the next epoch, all above 280 is cut off;
                                        no high watermark until `commit`; unaware=(3,) stays behind
    quorum.elect(-1)                    an epoch without a leader
    quorum.clean(snapshot_id)           the log starts at that snapshot, as after retention
    quorum.add_snapshot(...), delete_snapshot(...)
    quorum.stop(2), start(2)            kill a node, start it at the same port
    quorum.upgrade("4.1")               another release
    with quorum.change():               several changes of `quorum.nodes[...]` at once

What goes wrong, by `quorum.fail(FAULT, key=FETCH, node_id=1, after=3, times=2)`: CloseAfter(bytes),
Slow(seconds, piece=bytes), Late(bytes) until the client has given up, Silent(), WrongCorrelation(),
WrongLength(size), CutRecords(bytes), FlipByte(position), Answer(field=value, ...) of FetchAnswer or
FetchSnapshotAnswer, Meanwhile(function), which runs between a request and its answer, and
Overtaken(function), which runs between an answer and its sending.

Who may ask: `tls=` takes a server's SSLContext, `sasl=Sasl({"user": "password"})` asks for PLAIN,
SCRAM or OAUTHBEARER (its token is the password), also with a lifetime, `allowed={"user"}` names who
has the rights on the cluster (a certificate's principal is `CN=name`, without either ANONYMOUS).

What a test sees: `quorum.seen`, `quorum.asked(FETCH)`, `quorum.wait_for(condition)`, and
`quorum.breaches`: what a guest must not do (a replica id, two requests in flight, a high watermark
of -1, a last fetched epoch of -1, a malformed or unknown request). The end of the `with` fails if
there are any, unless `allows_anything` is set.
"""

from tests.stand_in_quorum.faults import (
    Answer,
    CloseAfter,
    CutRecords,
    Fault,
    FlipByte,
    Late,
    Meanwhile,
    Overtaken,
    Silent,
    Slow,
    WrongCorrelation,
    WrongLength,
)
from tests.stand_in_quorum.frames import (
    API_VERSIONS,
    DESCRIBE_QUORUM,
    FETCH,
    FETCH_SNAPSHOT,
    METADATA,
)
from tests.stand_in_quorum.log import Batch, Log, SnapshotId, relabelled, split
from tests.stand_in_quorum.quorum import BROKER, CLUSTER_ID, Quorum, Seen
from tests.stand_in_quorum.releases import RELEASES, Release
from tests.stand_in_quorum.session import Sasl

__all__ = [
    "API_VERSIONS",
    "BROKER",
    "CLUSTER_ID",
    "DESCRIBE_QUORUM",
    "FETCH",
    "FETCH_SNAPSHOT",
    "METADATA",
    "RELEASES",
    "Answer",
    "Batch",
    "CloseAfter",
    "CutRecords",
    "Fault",
    "FlipByte",
    "Late",
    "Log",
    "Meanwhile",
    "Overtaken",
    "Quorum",
    "Release",
    "Sasl",
    "Seen",
    "Silent",
    "Slow",
    "SnapshotId",
    "WrongCorrelation",
    "WrongLength",
    "relabelled",
    "split",
]
