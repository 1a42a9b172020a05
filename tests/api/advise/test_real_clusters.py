"""The verdict on real clusters of three nodes: complete, lagging, torn and damaged logs."""

from pathlib import Path

from metadata_log.kraft.directory import open_directory
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, data_sets, each_data_set_where


def _of_three(each: DataSet) -> bool:
    return sum(other.name == each.name for other in data_sets()) == 3


of_three = each_data_set_where(_of_three)


def nodes(tmp_path: Path, data_set: DataSet) -> list[Path]:
    """The directories of all nodes of a cluster; the first one is that of the data set."""
    of = [each for each in data_sets() if each.name == data_set.name and each != data_set]
    return [each.materialise(tmp_path) for each in (data_set, *of)]


def last_segment(directory: Path) -> Path:
    return sorted(directory.glob("*/*.log"))[-1]


@of_three
def test_all_three_are_started(metalog: Metalog, tmp_path: Path, data_set: DataSet) -> None:
    advice = metalog("advise", *nodes(tmp_path, data_set), "--json").json
    assert (advice["verdict"], advice["certain"], advice["seed"]) == ("start_them", True, None)
    assert advice["at_risk"] == []


@of_three
def test_one_of_three_may_lack_something(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    node, *_ = nodes(tmp_path, data_set)
    advice = metalog("advise", node, "--json").json
    assert (advice["verdict"], advice["certain"], advice["seed"]) == ("seed", False, str(node))
    assert advice["log_end"] == advice["as_of"] + 1 > 0
    assert all(each["kept"] and each["on"] == [str(node)] for each in advice["at_risk"])


@of_three
def test_a_torn_tail_is_left_out(metalog: Metalog, tmp_path: Path, data_set: DataSet) -> None:
    node, *_ = nodes(tmp_path, data_set)
    before = metalog("advise", node, "--json").json
    segment = last_segment(node)
    # Of a segment that is a single batch, or older than a checkpoint, nothing is torn.
    *_, last = open_directory(node).batches()
    segment.write_bytes(segment.read_bytes()[:-7])
    advice = metalog("advise", node, "--json").json
    assert advice["verdict"] == "seed"
    assert advice["log_end"] == max(last.base_offset, advice["proven_end"])
    assert advice["log_end"] <= before["log_end"]


@of_three
def test_damage_in_the_middle_is_refused_unless_a_checkpoint_covers_it(
    metalog: Metalog, tmp_path: Path, data_set: DataSet
) -> None:
    node, *_ = nodes(tmp_path, data_set)
    proven = metalog("advise", node, "--json").json["proven_end"]
    batches = list(open_directory(node).batches())
    bad = batches[len(batches) // 2]
    segment = last_segment(node)
    content = bytearray(segment.read_bytes())
    content[bad.position + bad.size - 2] ^= 1
    segment.write_bytes(content)
    advice = metalog("advise", node, "--json").json
    expected = "seed" if bad.end_offset <= proven else "refused"
    assert advice["verdict"] == expected, advice["reason"]
    assert not advice["certain"]
