"""Examples for the OpenAPI document and its page that stand in no row of a table."""

from typing import Any

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

RECORDS = '{"type": "NoteRecord", "data": {"at_offset": 0, "author": "ann", "text": "seen"}}\n'
"""The body of an append."""
