"""The stand-in shares no code with the product: a fault of one is found by the other."""

import ast
from pathlib import Path

PRODUCT = {"records", "metadata_log", "replay", "controller", "api", "metalog_client"}


def test_stand_in_imports_nothing_of_the_product() -> None:
    imported = set()
    for path in Path(__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
                shared = node.module.startswith("tests") and "stand_in_quorum" not in node.module
                assert not shared, f"{path.name}: {node.module}"
    assert "struct" in imported
    assert not imported & PRODUCT
