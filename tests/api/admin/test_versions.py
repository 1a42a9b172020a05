"""Descriptions show the versions of objects: those that `image` shows and `--expect` compares."""

import json
from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.api.services import serving


@pytest.fixture
def versions(metalog: Metalog, log: Path) -> dict[str, int]:
    """The version of each object, as `image` shows it; `orders` and the cluster have configs."""
    for resource in ("topic/orders", "cluster"):
        name = "retention.ms" if resource != "cluster" else "log.retention.ms"
        assert metalog("configs", "set", resource, f"{name}=1", "--log", log).code == 0
    parts = metalog("image", log, "--json").json["parts"].values()
    return {o["object"]: o["version"] for part in parts for o in part if "version" in o}


@pytest.mark.parametrize("way", ["log", "server"])
def test_descriptions_show_the_versions_of_the_image(
    metalog: Metalog, log: Path, versions: dict[str, int], way: str
) -> None:
    if way == "log":
        _check(metalog, versions, ("--log", log))
    else:
        with serving(log) as served:
            _check(metalog, versions, ("--server", served.kafka))


def _check(metalog: Metalog, versions: dict[str, int], where: tuple[object, ...]) -> None:
    orders, clicks = versions["topic:orders"], versions["topic:clicks"]
    configs = versions["config:topic/orders"]
    described = metalog("topics", "describe", *where, "--json").json["topics"]
    assert [(t["name"], t["version"], t["configs_version"]) for t in described] == [
        ("clicks", clicks, None),
        ("orders", orders, configs),
    ]
    text = metalog("topics", "describe", *where).out
    assert f"clicks  version {clicks}  id " in text
    assert f"orders  version {orders}  configs version {configs}  id " in text
    listed = metalog("partitions", "list", *where, "--json").json["partitions"]
    found = {f"partition:{p['topic']}/{p['partition']}": p["version"] for p in listed}
    assert found == {name: v for name, v in versions.items() if name.startswith("partition:")}
    row = metalog("partitions", "describe", "orders/1", *where)
    assert f"version           {versions['partition:orders/1']}\n" in row.out
    for resource, version in (
        ("topic/orders", configs),
        ("cluster", versions["config:broker/"]),
        ("topic/clicks", None),
        ("broker/1", None),
    ):
        config = metalog("configs", "describe", resource, *where, "--json").json
        assert (config["resource"], config["version"]) == (resource, version)
        shown = "absent" if version is None else version
        out = metalog("configs", "describe", resource, *where).out
        assert out.startswith(f"{resource}  version {shown}\n")
    namespaces = metalog("namespaces", "list", *where, "--json").json["namespaces"]
    assert {f"namespace:{n['name']}": n["version"] for n in namespaces} == {
        name: v for name, v in versions.items() if name.startswith("namespace:")
    }


def test_a_version_that_was_shown_can_be_expected(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    note = {"type": "NoteRecord", "data": {"at_offset": 0, "author": "ann", "text": "x"}}
    (tmp_path / "note").write_text(json.dumps(note))
    (topic,) = metalog("topics", "describe", "orders", "--log", log, "--json").json["topics"]
    expect = (
        "--expect",
        f"topic:orders={topic['version']}",
        "--expect",
        "config:topic/orders=absent",
    )
    assert metalog("append", tmp_path / "note", "--log", log, *expect).code == 0
    grow = ("topics", "alter", "orders", "--partitions", 4, "--log", log)
    assert metalog(*grow).code == 0
    (tmp_path / "note").write_text(json.dumps(note) + "\n")
    late = metalog("append", tmp_path / "note", "--log", log, *expect)
    assert late.code == 3
    (topic,) = metalog("topics", "describe", "orders", "--log", log, "--json").json["topics"]
    assert f"is at version {topic['version']}" in late.err
