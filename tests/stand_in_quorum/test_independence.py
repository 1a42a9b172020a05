"""The stand-in shares no code with the product: a fault of one is found by the other."""

import ast
from pathlib import Path

PRODUCT = {"records", "metadata_log", "replay", "controller", "api", "metalog_client"}


def test_stand_in_imports_nothing_of_the_product() -> None:
    imported = set()
    here = Path(__file__).parent
    for path in (*here.glob("*.py"), here.with_name("ports.py")):
        # Its tests may find the real logs as other tests do.
        known = (
            *("tests.stand_in_quorum", "tests.ports"),
            *(["tests.real_logs"] if "test_" in path.name else []),
        )
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
                is_ours = node.module.startswith(known) or not node.module.startswith("tests")
                assert is_ours, f"{path.name}: {node.module}"
    assert "struct" in imported
    assert not imported & PRODUCT
