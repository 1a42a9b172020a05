"""`metalog doctor` prints the lines that let a reader in, where the address says which."""

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.cli.kafka.controller_access import Attempt, advice_of
from api.documents.quorums import Advice
from api.security.listeners import SecurityProtocol
from api.transport.probe import Reach
from tests.api.conftest import Metalog
from tests.certificates import Authority
from tests.docs_console import ROOT
from tests.stand_in_quorum import FETCH, Answer, Quorum

_POD = "my-cluster-controller-1.my-cluster-kafka-brokers.kafka.svc"
_CONFLUENT = "kraftcontroller-0.kraftcontroller.confluent.svc.cluster.local"
_PAGE = (ROOT / "docs" / "recording.md").read_text()


def _advice(
    host: str,
    reach: Reach | None,
    *,
    port: int = 9090,
    protocol: SecurityProtocol = SecurityProtocol.SSL,
    has_certificate: bool = False,
    lacks_right: bool = False,
) -> tuple[Advice, ...]:
    return advice_of(
        [
            Attempt(
                host=host,
                port=port,
                protocol=protocol,
                has_certificate=has_certificate,
                reach=reach,
                lacks_right=lacks_right,
            )
        ]
    )


def _document(advice: Advice) -> Any:
    (text,) = re.findall(r"<<'END'\n(.*?)\nEND$", "\n".join(advice.lines), re.DOTALL)
    return yaml.safe_load(text)


@contextmanager
def _named(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a name of Kubernetes be this machine's, as a pod's name server would know it."""
    found = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        return found("127.0.0.1" if host == name else host, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


def _tls(authority: Authority) -> ssl.SSLContext:
    files = authority.issue("controller")
    assert files.certificate is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.path))
    context.load_cert_chain(files.certificate, files.key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _in_page(advice: Advice) -> bool:
    return "\n".join(advice.lines) in _PAGE


def test_controller_of_strimzi_that_does_not_answer_gets_a_policy() -> None:
    (advice,) = _advice(_POD, Reach.SILENT)
    policy = _document(advice)
    assert policy["metadata"] == {"name": "metalog-to-controllers", "namespace": "kafka"}
    assert policy["spec"]["podSelector"]["matchLabels"] == {
        "strimzi.io/cluster": "my-cluster",
        "strimzi.io/name": "my-cluster-kafka",
    }
    assert policy["spec"]["ingress"][0]["ports"] == [{"port": 9090}]
    # A policy that is the only one for a pod shuts out all that it does not name.
    assert advice.lines[0] == (
        "kubectl -n kafka get networkpolicy my-cluster-network-policy-kafka &&"
    )
    assert _in_page(advice)


def test_lines_of_the_document_are_those_that_are_printed() -> None:
    (right,) = _advice(_POD, None, lacks_right=True)
    (certificate,) = _advice(_POD, Reach.TLS)
    assert _in_page(right)
    *lines, last = certificate.lines
    assert "\n".join(lines) in _PAGE and f"$ {last}\n" in _PAGE


@pytest.mark.parametrize(
    ("host", "port", "reach"),
    [
        ("10.0.0.7", 9090, Reach.SILENT),
        ("10.0.0.7", 9093, Reach.SILENT),
        (_CONFLUENT, 9074, Reach.SILENT),
        ("c1.kafka.svc", 9193, Reach.REFUSED),
    ],
)
def test_address_that_names_no_cluster_leaves_capitals(host: str, port: int, reach: Reach) -> None:
    (advice,) = _advice(host, reach, port=port)
    assert _document(advice)["spec"]["ingress"][0]["ports"] == [{"port": port}]
    assert re.search("CLUSTER|POLICY", advice.lines[0])
    assert ("NAMESPACE" in advice.lines[0]) == host.startswith("10.")


@pytest.mark.parametrize(
    ("host", "port", "reach"),
    [
        ("c1.example.com", 19093, Reach.SILENT),
        ("127.0.0.1", 9093, Reach.REFUSED),
        ("c1.example.com", 9093, Reach.UNKNOWN_NAME),
        ("127.0.0.1", 9093, None),
    ],
)
def test_address_that_says_nothing_gets_no_lines(host: str, port: int, reach: Reach | None) -> None:
    assert _advice(host, reach, port=port) == ()


def test_name_of_kubernetes_is_known_in_a_pod_only() -> None:
    for host in (_POD, _CONFLUENT):
        (advice,) = _advice(host, Reach.UNKNOWN_NAME)
        assert "run this in a pod" in advice.text and not advice.lines


def test_confluents_resource_says_what_its_listener_asks_for() -> None:
    (advice,) = _advice(_CONFLUENT, Reach.TLS, port=9074)
    assert advice.lines == ("kubectl -n confluent get kraftcontroller kraftcontroller -o yaml",)


def test_advice_for_several_controllers_is_given_once() -> None:
    attempts = [
        Attempt(
            host=_POD.replace("-1.", f"-{number}."),
            port=9090,
            protocol=SecurityProtocol.SSL,
            has_certificate=True,
            reach=Reach.SILENT,
        )
        for number in (1, 2, 3)
    ]
    assert len(advice_of(attempts)) == 1


def test_silent_controller_is_told_with_its_policy(
    metalog: Metalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, _named(_POD, monkeypatch):
        url = f"ssl://{_POD}:{silent.getsockname()[1]}"
        answer = metalog("doctor", url, "--json")
        text = metalog("doctor", url)
    assert (answer.code, text.code) == (1, 1)
    (advice,) = answer.json["advice"]
    assert advice["lines"] == text.out.splitlines()[-len(advice["lines"]) :]
    assert "kind: NetworkPolicy" in advice["lines"]


@pytest.mark.parametrize("scheme", ["kafka", "ssl"])
def test_controller_that_wants_a_certificate_is_told_with_the_commands_for_one(
    metalog: Metalog,
    monkeypatch: pytest.MonkeyPatch,
    partition: Path,
    tmp_path: Path,
    scheme: str,
) -> None:
    authority = Authority(tmp_path)
    with Quorum(partition, tls=_tls(authority)) as quorum, _named(_POD, monkeypatch):
        port = quorum.address(1).rpartition(":")[2]
        answer = metalog("doctor", f"{scheme}://{_POD}:{port}", "--json")
    (advice,) = answer.json["advice"]
    assert any(line.startswith("openssl x509 -req") for line in advice["lines"])
    assert advice["lines"][-1] == f"METALOG_CLIENT=client.toml metalog doctor ssl://{_POD}:{port}"


def test_protocol_of_the_port_is_named_if_the_address_has_another(
    metalog: Metalog, partition: Path, tmp_path: Path
) -> None:
    def lines(quorum: Quorum, scheme: str) -> Any:
        answer = metalog("doctor", f"{scheme}://{quorum.address(1)}", "--json")
        return answer.json["advice"][0]["lines"]

    with Quorum(partition, allows_anything=True) as quorum:
        assert lines(quorum, "ssl") == [f"metalog doctor kafka://{quorum.address(1)}"]
    with Quorum(partition, tls=_tls(Authority(tmp_path))) as quorum:
        assert lines(quorum, "kafka") == [f"metalog doctor ssl://{quorum.address(1)}"]


def test_missing_right_is_told_with_the_lines_that_grant_it(
    metalog: Metalog, partition: Path
) -> None:
    with Quorum(partition) as quorum:
        quorum.fail(Answer(top_error=31), key=FETCH, times=100)
        answer = metalog("doctor", f"kafka://{quorum.bootstrap}", "--json")
    (advice,) = answer.json["advice"]
    assert "--operation ClusterAction --cluster" in advice["lines"][0]


def test_what_is_to_be_guarded_is_said_before_anything_is_written(
    metalog: Metalog, partition: Path
) -> None:
    with Quorum(partition) as quorum:
        told = " ".join(metalog("doctor", f"kafka://{quorum.bootstrap}").out.split())
        assert metalog("doctor", f"kafka://{quorum.bootstrap}", "--json").json["advice"] == []
    assert "the right to read the log is the one to register brokers" in told
    assert "SCRAM verifiers and the secrets of delegation tokens" in told
