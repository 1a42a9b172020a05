"""Configs of a broker that are known from its registration, under their names in Kafka."""

from replay.image.cluster import Broker

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def registered_config(broker: Broker, name: str) -> str | None:
    """Return a config's value as the broker registered it; None if the registration has none."""
    if name in ("node.id", "broker.id"):
        return str(broker.broker_id)
    if name == "broker.rack":
        return broker.rack
    if name == "advertised.listeners":
        return ",".join([f"{e.name}://{_host(e.host)}:{e.port}" for e in broker.end_points])
    if name == "listener.security.protocol.map":
        return ",".join([f"{e.name}:{_protocol(e.security_protocol)}" for e in broker.end_points])
    return None


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _protocol(code: int) -> str:
    return _PROTOCOLS[code] if 0 <= code < len(_PROTOCOLS) else str(code)
