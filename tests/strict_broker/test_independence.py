"""The strict client shares no code with the product, and only primitive types with the stand-in."""

import ast
from pathlib import Path

PRODUCT = {"records", "metadata_log", "replay", "controller", "api", "metalog_client"}
CLIENT = ("traps", "releases", "connection", "messages", "batches", "image", "raft", "broker")


def _imports(name: str) -> set[str]:
    tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text())
    found = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return found | {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}


def test_client_imports_nothing_of_the_product() -> None:
    imported = {module for name in (*CLIENT, "fake", "conftest") for module in _imports(name)}
    assert not {module.partition(".")[0] for module in imported} & PRODUCT


def test_client_shares_only_primitive_types_with_the_stand_in() -> None:
    of_tests = {m for name in CLIENT for m in _imports(name) if m.startswith("tests")}
    ours = {f"tests.strict_broker.{name}" for name in CLIENT}
    assert of_tests - ours == {"tests.stand_in_quorum.wire"}
