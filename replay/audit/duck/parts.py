"""A part of the state as an Arrow table: ids as text, secrets redacted."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pyarrow

from records.secrets import REDACTED, SECRET_FIELDS, is_secret_config
from replay.audit.duck.arrow_types import Named, arrow_type, arrow_value
from replay.audit.duck.records import Records
from replay.audit.fold import workers
from replay.audit.fold.partitions import PARTITION
from replay.audit.fold.texts import id_text
from replay.audit.part_fields import OF_PARTITIONS, part_fields
from replay.audit.record_types import BULK, RARE

_SECRETS = {
    "delegation_tokens": SECRET_FIELDS["DelegationTokenRecord"],
    "scram": SECRET_FIELDS["UserScramCredentialRecord"],
}


def part_table(records: Records, name: str, at: int, *, show_secrets: bool) -> pyarrow.Table:
    """Return the objects of a part of the state at an offset.

    Returns:
        A column per field, with the records' field names; ids are text, other bytes binary. A
        column whose secrets are redacted is text.
    """
    if name == "partitions":
        return _partitions(records, at)
    found = workers.objects_of(records.others(at, RARE), name)
    objects = [msgspec.json.decode(text) for each in found for text in each["object"].to_pylist()]
    hidden = () if show_secrets else _SECRETS.get(name, ())
    if name == "configs" and not show_secrets:
        objects = [_without_value(each) for each in objects]
    columns = {
        field["name"]: _column(field, (each.get(field["name"]) for each in objects), hidden)
        for field in part_fields(name)
    }
    return pyarrow.table(columns)


def _column(field: dict[str, Any], values: Iterable[Any], hidden: Iterable[str]) -> pyarrow.Array:
    if field["name"] in hidden:
        texts = [None if value is None else REDACTED for value in values]
        return pyarrow.array(texts, pyarrow.string())
    named: Named = {}
    type_ = arrow_type(field["type"], named)
    found = [arrow_value(each, field["type"], named) for each in values]
    if type_ == pyarrow.float64():
        found = [each and float(each) for each in found]  # NaN and the infinities are text
    return pyarrow.array(found, type_)


def _without_value(config: dict[str, Any]) -> dict[str, Any]:
    is_hidden = config.get("value") is not None and is_secret_config(config["name"])
    return {**config, "value": REDACTED} if is_hidden else config


def _partitions(records: Records, at: int) -> pyarrow.Table:
    batches = list(workers.partitions_of(records.of_types(at, BULK | OF_PARTITIONS)))
    found = pyarrow.Table.from_batches(batches, batches[0].schema if batches else PARTITION)
    for number, field in enumerate(found.schema):
        if field.type == pyarrow.binary():
            texts = [id_text(each) for each in found[field.name].to_pylist()]
            found = found.set_column(number, field.name, pyarrow.array(texts, pyarrow.string()))
        elif field.type == pyarrow.list_(pyarrow.binary()):
            lists = found[field.name].to_pylist()
            ids = [None if each is None else [id_text(item) for item in each] for each in lists]
            found = found.set_column(
                number, field.name, pyarrow.array(ids, pyarrow.list_(pyarrow.string()))
            )
    return found
