"""`advise --write` writes a directory from which Kafka starts, with the records of the seed."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.advise.cases import CASES, SEED, Case, history
from tests.api.advise.clusters import CLUSTER, Cluster, History, directory_id, flipped
from tests.api.advise.kafka_start import start
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where

CONFIRMED = ("--lost-are-down", "--accept-loss")


def written(metalog: Metalog, tmp_path: Path, *arguments: object) -> Path:
    target = tmp_path / "new"
    answer = metalog("advise", *arguments, "--write", target, *CONFIRMED)
    assert "written: " in answer.out, answer.err
    return target


def digest(metalog: Metalog, directory: Path, log: Path, at: int) -> str:
    """Return the digest of the records of a directory below an offset."""
    assert metalog("import", "kraft", directory, log).code == 0
    return str(metalog("digest", log, "--at", at - 1, "--json").json["digest"])


SEEDS = [each for each in CASES if each.verdict == SEED and each.seed != "b7"]


@pytest.mark.parametrize("case", SEEDS, ids=lambda case: case.title)
def test_kafka_starts_from_what_is_written(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    directories = [path.name for path in case.build(Cluster(tmp_path))]
    monkeypatch.chdir(tmp_path)
    advice = metalog("advise", *directories, *case.options, "--json").json
    target = written(metalog, tmp_path, *directories, *case.options)
    assert case.seed is not None
    node_id = int(case.seed[1:])
    is_dynamic = any("bootstrap.servers" in step for step in advice["steps"])
    controller = start(target, () if is_dynamic else (node_id,))
    assert (controller.cluster_id, controller.node_id) == (CLUSTER, node_id)
    assert controller.directory_id == directory_id(node_id)
    assert controller.elected_epoch is not None
    assert controller.log_end == advice["log_end"]
    if is_dynamic:
        # The written directory is a whole cluster of one voter.
        assert metalog("advise", target, "--json").json["verdict"] == "start_them"


def test_the_next_epoch_is_above_every_epoch_seen(metalog: Metalog, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    state = (9, 2, -1)
    nodes = [cluster.node("n3", history(), state=state), cluster.node("b7", history(), end=5)]
    controller = start(written(metalog, tmp_path, *nodes), (3,))
    assert controller.elected_epoch == 10


def test_a_static_seed_is_copied_byte_for_byte(metalog: Metalog, tmp_path: Path) -> None:
    *whole, last = history().batches
    at = history().end - 1
    source = Cluster(tmp_path).node("n1", history(), end=at, tail=last[:33])
    target = written(metalog, tmp_path, source)
    (log,) = target.glob("*/*.log")
    assert log.read_bytes() == b"".join(whole)
    assert digest(metalog, target, tmp_path / "a", at) == digest(
        metalog, source, tmp_path / "b", at
    )


def test_a_dynamic_seed_holds_the_same_state(metalog: Metalog, tmp_path: Path) -> None:
    of = history(dynamic=True)
    source = Cluster(tmp_path).node("n2", of)
    target = written(metalog, tmp_path, source)
    assert [path.suffix for path in target.glob("*/0*")] == [".checkpoint"]
    images = []
    for directory, log in ((target, tmp_path / "a"), (source, tmp_path / "b")):
        assert metalog("import", "kraft", directory, log).code == 0
        images.append(metalog("image", log, "--at", of.end - 1, "--json").json["parts"])
    seed, before = images
    assert [each["object"] for each in seed.pop("voters")] == ["voter:2"]
    assert [each["object"] for each in before.pop("voters")] == ["voter:1", "voter:2", "voter:3"]
    for each in (*seed["topics"], *before["topics"]):
        del each["version"]  # The offset of a record: no checkpoint of Kafka's keeps it.
    assert seed == before


def test_an_open_transaction_is_taken_back_before_its_begin(
    metalog: Metalog, tmp_path: Path
) -> None:
    of = history(dynamic=True)
    begin = of.end
    source = Cluster(tmp_path).node("n1", of.fork().transaction("t1", "t2"))
    controller = start(written(metalog, tmp_path, source))
    assert controller.log_end == begin


def test_what_damage_hides_below_a_checkpoint_is_healed(metalog: Metalog, tmp_path: Path) -> None:
    of = history()
    whole = Cluster(tmp_path / "whole").node("n1", of, checkpoints=[(6, 1)])
    source = Cluster(tmp_path).node("n1", of, raw=flipped(of, 3), checkpoints=[(6, 1)])
    target = written(metalog, tmp_path, source)
    assert sorted(path.name for path in target.glob("*/*.log")) == ["00000000000000000006.log"]
    (log,) = target.glob("*/*.log")
    assert log.read_bytes() == b"".join(of.bytes_from(6))
    assert start(target, (1,)).log_end == of.end
    # The whole log has more history; the state after the checkpoint comes from the same batches.
    assert metalog("import", "kraft", whole, tmp_path / "a").code == 0
    assert metalog("import", "kraft", target, tmp_path / "b").code == 0


def test_a_brokers_data_is_run_by_a_surviving_controller(metalog: Metalog, tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    nodes = [cluster.node("n1", history(), end=8), cluster.node("b7", history())]
    controller = start(written(metalog, tmp_path, *nodes), (1,))
    assert (controller.node_id, controller.directory_id) == (1, directory_id(1))
    assert controller.log_end == history().end


def test_only_brokers_survive_so_a_controller_must_be_named(
    metalog: Metalog, tmp_path: Path
) -> None:
    nodes = [Cluster(tmp_path).node("b7", history())]
    target = tmp_path / "new"
    refused = metalog("advise", *nodes, "--write", target, *CONFIRMED)
    assert refused.code == 3 and "--node" in refused.err and not target.exists()
    assert start(written(metalog, tmp_path, *nodes, "--node", 2), (2,)).node_id == 2


def test_endpoints_may_be_given(metalog: Metalog, tmp_path: Path) -> None:
    of = history(dynamic=True)
    nodes = [Cluster(tmp_path).node("b7", of)]
    arguments = (*nodes, "--node", 9)
    refused = metalog("advise", *arguments, "--write", tmp_path / "new", *CONFIRMED)
    assert refused.code == 3 and "--endpoint" in refused.err
    endpoint = ("--endpoint", "CONTROLLER=c9.example:9093")
    controller = start(written(metalog, tmp_path, *arguments, *endpoint))
    assert controller.elected_epoch is not None
    (checkpoint,) = (tmp_path / "new").glob("*/*.checkpoint")
    assert b"c9.example" in checkpoint.read_bytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [((), "--lost-are-down"), (("--lost-are-down",), "--accept-loss")],
)
def test_nothing_is_written_without_confirmation(
    metalog: Metalog, tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    source = Cluster(tmp_path).node("n1", history())
    answer = metalog("advise", source, "--write", tmp_path / "new", *options)
    assert answer.code == 3
    assert says in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n1"]


def test_nothing_is_written_where_a_majority_survived(metalog: Metalog, tmp_path: Path) -> None:
    nodes = [Cluster(tmp_path).node(f"n{each}", history()) for each in (1, 2)]
    answer = metalog("advise", *nodes, "--write", tmp_path / "new", *CONFIRMED)
    assert answer.code == 3
    assert "nothing committed is lost" in answer.err
    assert not (tmp_path / "new").exists()


def test_never_in_place(metalog: Metalog, tmp_path: Path) -> None:
    source = Cluster(tmp_path).node("n1", history())
    answer = metalog("advise", source, "--write", source, *CONFIRMED)
    assert answer.code == 3
    assert "choose a new directory" in answer.err
    inside = metalog("advise", source, "--write", source / "sub" / "new", *CONFIRMED)
    assert inside.code == 3
    assert "must not write to" in inside.err
    assert not (source / "sub").exists()


def test_records_that_are_not_understood_are_never_lost_in_a_checkpoint(
    metalog: Metalog, tmp_path: Path
) -> None:
    from records.control import UnknownRecord

    strange = UnknownRecord(api_key=1_000, record_version=0, value=bytes.fromhex("01e807000100"))
    of = history(dynamic=True).add(strange)
    source = Cluster(tmp_path).node("n1", of)
    answer = metalog("advise", source, "--write", tmp_path / "new", *CONFIRMED)
    assert answer.code == 3
    assert "does not understand" in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["n1"]
    # A byte copy loses nothing.
    static = Cluster(tmp_path / "static").node("n1", history().add(strange))
    assert written(metalog, tmp_path, static).exists()


_HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports who holds a lock")
def test_a_directory_in_use_is_refused(metalog: Metalog, tmp_path: Path) -> None:
    source = Cluster(tmp_path).node("n1", history())
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, source / ".lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        advice = metalog("advise", source, "--json").json
        assert (advice["verdict"], advice["certain"]) == ("refused", False)
        assert "in use" in advice["reason"]
    finally:
        holder.communicate()
    # Asking took no lock: the next holder gets it at once.
    with (source / ".lock").open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert metalog("advise", source, "--json").json["verdict"] == SEED


@each_data_set_where(lambda each: each.cluster_id is not None)
def test_the_seed_of_a_real_log_holds_all_of_it(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    source = data_set.materialise(tmp_path)
    advice = metalog("advise", source, "--json").json
    if advice["verdict"] != SEED:
        assert advice["verdict"] == "start_them"
        return
    target = written(metalog, tmp_path, source)
    node_id = int(start_node(source))
    controller = start(target, (node_id,))
    assert controller.log_end == advice["log_end"]
    at = advice["log_end"]
    assert digest(metalog, target, tmp_path / "a", at) == digest(
        metalog, source, tmp_path / "b", at
    )


def start_node(source: Path) -> str:
    lines = (source / "meta.properties").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("node.id="))


def test_options_that_mean_nothing_are_told(metalog: Metalog, tmp_path: Path) -> None:
    source = Cluster(tmp_path).node("n1", History().epoch(1).topics("a"))
    for option, value in (("--kafka", "new"), ("--voters", "a,b"), ("--endpoint", "host")):
        extra = ("--write", tmp_path / "new", *CONFIRMED) if option == "--endpoint" else ()
        answer = metalog("advise", source, option, value, *extra)
        assert answer.code == 2
        assert option in answer.err
