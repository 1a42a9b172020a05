"""One example of each operation, for the OpenAPI document and its page."""

from typing import Any

_ASSIGNED = {"topics": [{"name": "orders", "partitions": 3}]}
_ACL = {
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "pattern_type": "LITERAL",
    "principal": "User:ann",
    "host": "*",
    "operation": "READ",
    "permission_type": "ALLOW",
}
_RETENTION = {
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "changes": [{"name": "retention.ms", "value": "86400000"}],
}

PARAMETERS: dict[str, Any] = {
    "object": "topic:orders",
    "name": "orders",
    "expression": "size(topics) > 3",
    "broker_id": 1,
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "principal": "User:ann",
    "operation": "READ",
    "filter": "{}",
    "from": "start",
    "to": "end",
}
"""Values of required parameters, by name."""

QUESTIONS: dict[str, dict[str, Any]] = {
    "quotas explain": {"user": "ann"},
    "upgrade-check": {"to": "4.0"},
    "what-if": {"without": ["topic:orders"]},
}
"""Values of parameters of one question, also of some that are not required."""

COMMANDS: dict[str, Any] = {
    "topics create": _ASSIGNED,
    "topics alter": {"topics": [{"topic": "orders", "partitions": 6}]},
    "topics delete": {"topics": ["orders"]},
    "partitions create": {"topics": [{"topic": "orders", "partitions": 6}]},
    "partitions plan": {"topics": ["orders"], "partitions": 2},
    "partitions delete": {"topics": [{"topic": "orders", "partitions": 2}]},
    "partitions cancel-delete": {"topic": "orders"},
    "leaders elect": {"partitions": [["orders", 0]]},
    "reassignments alter": {
        "partitions": [{"topic": "orders", "partition_id": 0, "broker_ids": [1, 2]}]
    },
    "brokers register": {
        "broker_id": 1,
        "cluster_id": "EpwKlK0lQkSmdhfG2sVDkg",
        "incarnation_id": "AAAAAAAAAAAAAAAAAAAAAQ",
    },
    "brokers fence": {"broker_id": 1, "fenced": True},
    "brokers unregister": {"broker_id": 1},
    "configs alter": {"resources": [_RETENTION]},
    "configs replace": {"resources": [_RETENTION]},
    "acls create": {"acls": [_ACL]},
    "acls delete": {"filters": [{"principal": "User:ann"}]},
    "features update": {"updates": [{"name": "metadata.version", "level": 25}]},
    "users alter": {"deletions": [{"user": "ann", "mechanism": "SCRAM_SHA_256"}]},
    "tokens create": {"owner": "User:ann"},
    "tokens renew": {"token_id": "dG9rZW4"},
    "tokens expire": {"token_id": "dG9rZW4"},
    "quotas alter": {
        "entities": [
            {
                "entity": [["user", "ann"]],
                "changes": [{"key": "producer_byte_rate", "value": 1048576.0}],
            }
        ]
    },
    "namespaces create": {"name": "shop"},
    "namespaces delete": {"name": "shop"},
    "topics move": {"from_namespace": "", "to_namespace": "shop", "topic": "orders"},
    "subscriptions register": {"group": "billing", "pattern": "orders.*"},
    "subscriptions delete": {"group": "billing"},
    "notes add": {"at_offset": 0, "text": "seen"},
    "transaction": {"steps": [{"command": "topics create", "request": _ASSIGNED}]},
}
"""Bodies of commands."""

RECORDS = '{"type": "NoteRecord", "data": {"at_offset": 0, "author": "ann", "text": "seen"}}\n'
"""The body of an append."""
