"""What may keep a reader away from controllers on Kubernetes, and the lines that let it in.

Source: Strimzi's main branch of August 2026 (`KafkaCluster.generateNetworkPolicy`,
`NetworkPolicyUtils`, `KafkaResources`, `KafkaBrokerConfigurationBuilder`); for Confluent
docs.confluent.io/operator/current/co-configure-kraft.html; that policies add up:
kubernetes.io/docs/concepts/services-networking/network-policies.
"""

import re
from collections.abc import Iterable

import msgspec

from api.documents.quorums import Advice
from api.security.listeners import SecurityProtocol
from api.transport.probe import Reach

_STRIMZI_PORT, _CONFLUENT_PORT, _KAFKA_PORT = 9090, 9074, 9093

# POD.CLUSTER-kafka-brokers.NAMESPACE.svc: Strimzi's DnsNameGenerator and KafkaResources.
_STRIMZI = re.compile(r"[^.]+\.(?P<name>[^.]+)-kafka-brokers(\.(?P<namespace>[^.]+)(\.svc.*)?)?")
_SERVICE = re.compile(r"([^.]+\.)?(?P<name>[^.]+)\.(?P<namespace>[^.]+)\.svc(\..*)?")

_POLICY = """
kubectl -n {namespace} get networkpolicy {policy} &&
kubectl apply -f - <<'END'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: metalog-to-controllers, namespace: {namespace}}}
spec:
  podSelector: {{matchLabels: {{{pods}}}}}
  ingress:
    - from: [{{podSelector: {{matchLabels: {{app: metalog}}}}}}]
      ports: [{{port: {port}}}]
END"""

_CERTIFICATE = (
    "kubectl -n {namespace} get secret {name}-cluster-ca-cert "
    "-o jsonpath='{{.data.ca\\.crt}}' | base64 -d > ca.crt\n"
    "kubectl -n {namespace} get secret {name}-cluster-ca "
    "-o jsonpath='{{.data.ca\\.key}}' | base64 -d > ca.key\n"
    "openssl req -new -newkey rsa:2048 -nodes -subj /CN=metalog "
    "-keyout metalog.key -out metalog.csr\n"
    "openssl x509 -req -in metalog.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 90 "
    "-out metalog.crt\n"
    """rm ca.key metalog.csr
cat > client.toml <<'END'
ca_file = "ca.crt"
certificate_file = "metalog.crt"
key_file = "metalog.key"
END
METALOG_CLIENT=client.toml metalog doctor ssl://{host}:{port}"""
)

_USER = """
kubectl apply -f - <<'END'
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {{name: metalog, namespace: {namespace}, labels: {{strimzi.io/cluster: {name}}}}}
spec:
  authentication: {{type: tls-external}}
  authorization:
    type: simple
    acls: [{{resource: {{type: cluster}}, operations: [ClusterAction]}}]
END"""

_ACL = (
    "kafka-acls --bootstrap-server BROKER:9092 --add --allow-principal User:NAME "
    "--operation ClusterAction --cluster"
)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """How reading from one controller went.

    Attributes:
        reach: How far a connection gets; None: the controller answers.
        has_certificate: True if the reader has a client certificate.
        lacks_right: True if the controller refuses the reader's principal.
    """

    host: str
    port: int
    protocol: SecurityProtocol
    has_certificate: bool
    reach: Reach | None
    lacks_right: bool = False


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """The operator and the Kubernetes objects that an address suggests, in capitals if unknown."""

    is_strimzi: bool
    is_confluent: bool
    is_name: bool
    name: str
    namespace: str


def advice_of(attempts: Iterable[Attempt]) -> tuple[Advice, ...]:
    """Return what may be in the way, each once, with the lines to add."""
    found = (_advice(each, _place(each.host, each.port)) for each in attempts)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _place(host: str, port: int) -> _Place:
    strimzi, service = _STRIMZI.fullmatch(host), _SERVICE.fullmatch(host)
    match = strimzi or service
    named = {} if match is None else match.groupdict()
    return _Place(
        is_strimzi=strimzi is not None or (service is None and port == _STRIMZI_PORT),
        is_confluent=strimzi is None and port == _CONFLUENT_PORT,
        is_name=match is not None,
        name=named.get("name") or "CLUSTER",
        namespace=named.get("namespace") or "NAMESPACE",
    )


def _advice(attempt: Attempt, place: _Place) -> Advice | None:
    protocol, reach = attempt.protocol, attempt.reach
    if attempt.lacks_right:
        return _right(place)
    if reach is Reach.UNKNOWN_NAME and place.is_name:
        return Advice(
            text="The name is one that only pods of the Kubernetes cluster know: run this in a pod."
        )
    usual = attempt.port in (_STRIMZI_PORT, _CONFLUENT_PORT, _KAFKA_PORT)
    if (reach is Reach.SILENT and (place.is_name or usual)) or (
        reach is Reach.REFUSED and place.is_name
    ):
        return _policy(attempt, place)
    if reach is Reach.PLAIN and protocol.has_tls:
        other = "sasl_plaintext" if protocol.has_sasl else "kafka"
        return _address("The port speaks no TLS.", other, attempt)
    if reach is Reach.TLS and (protocol is SecurityProtocol.SSL or not protocol.has_tls):
        return _certificate(attempt, place)
    return None


def _policy(attempt: Attempt, place: _Place) -> Advice:
    if place.is_strimzi:
        policy = f"{place.name}-network-policy-kafka"
        pods = f"strimzi.io/cluster: {place.name}, strimzi.io/name: {place.name}-kafka"
        whose = (
            "A NetworkPolicy may keep you out: Strimzi's admits only Kafka's pods and the Cluster "
            f"Operator to port {attempt.port}."
        )
    else:
        policy, pods = "POLICY", "LABEL: VALUE"
        whose = (
            "A NetworkPolicy or a firewall may keep you out: controllers often answer only the "
            "cluster's own nodes. `kubectl get networkpolicy` lists the policies and the labels "
            "of the pods that they select."
        )
    return Advice(
        text=f"{whose} These lines admit pods of the same namespace with the label app: metalog. "
        "They look first for the policy that is there: without one, this would be the only one, "
        "and shut out everybody else.",
        lines=_lines(_POLICY, place, policy=policy, pods=pods, port=attempt.port),
    )


def _certificate(attempt: Attempt, place: _Place) -> Advice | None:
    if place.is_confluent:
        return Advice(
            text="The port speaks TLS. The KRaftController resource says which certificate or "
            "login it asks for, and the secret that has its authority.",
            lines=_lines("kubectl -n {namespace} get kraftcontroller {name} -o yaml", place),
        )
    if not place.is_strimzi:
        plain = not attempt.protocol.has_tls
        return _address("The port speaks TLS.", "ssl", attempt) if plain else None
    refused = "trusts only" if attempt.has_certificate else "asks for"
    return Advice(
        text=f"The port speaks TLS, and {refused} certificates that Strimzi's cluster CA has "
        "signed; those of users are signed by the clients' CA. Whoever has the key of the cluster "
        "CA can be any broker, so keep no copy. These lines make a certificate, and the file for "
        "METALOG_CLIENT.",
        lines=_lines(_CERTIFICATE, place, host=attempt.host, port=attempt.port),
    )


def _right(place: _Place) -> Advice:
    text = "These lines grant the right to a principal of the reader's own"
    if place.is_strimzi:
        return Advice(
            text=f"{text}, that of a certificate with the name CN=metalog.",
            lines=_lines(_USER, place),
        )
    return Advice(text=f"{text}, NAME.", lines=(_ACL,))


def _address(text: str, scheme: str, attempt: Attempt) -> Advice:
    return Advice(text=text, lines=(f"metalog doctor {scheme}://{attempt.host}:{attempt.port}",))


def _lines(template: str, place: _Place, **values: object) -> tuple[str, ...]:
    filled = template.format(name=place.name, namespace=place.namespace, **values)
    return tuple(filled.strip().splitlines())
