"""Run a command while a stand-in quorum serves a node's directory, for examples in the documents.

`python3 -m tests.served_quorum NODE COMMAND...`; in the command `QUORUM` is the quorum's address.
"""

import subprocess
import sys
from pathlib import Path

from metadata_log.kraft.directory import open_directory
from tests.stand_in_quorum import Quorum


def main(node: str, command: list[str]) -> int:
    """Run a command; return its exit code."""
    source = open_directory(Path(node))
    assert source.cluster_id is not None, node
    with Quorum(source.path, cluster_id=source.cluster_id, nodes=3) as quorum:
        words = [word.replace("QUORUM", quorum.bootstrap) for word in command]
        return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
