"""Calls over the socket and over Kafka's protocol, with our own client classes."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from api.clients.client import MetadataClient
from api.clients.reconnecting_client import ReconnectingClient
from api.kafka.messages.configs import (
    AlterableConfig,
    AlterableResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from api.requests.transactions import Step, Transact
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.versions import ExpectedVersion
from controller.descriptions.configs import DescribeConfigs
from controller.results.answer import Answer
from metadata_log.format.batch import AppendResult, NewBatch
from records.base import Record
from records.configs import ConfigRecord
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import UnavailableError
from replay.image.configs import CLIENT_METRICS
from tests.torture.mixed_load.history import Call, Kind
from tests.torture.mixed_load.recorded_calls import RecordedCalls

Way = Callable[[RecordedCalls], Awaitable[None]]
"""Makes a call or two, and records them."""

CONFIG = "interval.ms"
"""A config of client metrics: any resource of this type may have it, and any number is valid."""

ALTER = "configs alter"

_SET_HERE = 7
"""Kafka's ConfigSource CLIENT_METRICS_CONFIG; from any other source a value is a default."""


def alteration(register: str, token: int) -> AlterConfigs:
    """Return the request that writes a register."""
    change = ResourceChange(
        resource_type=CLIENT_METRICS,
        resource_name=register,
        changes=(ConfigChange(CONFIG, str(token)),),
    )
    return AlterConfigs(resources=(change,))


def object_of(register: str) -> str:
    """Return the object name of a register, for `--expect`."""
    return f"config:client-metrics/{register}"


class Commands:
    """Commands and questions of a client, each command with a request id."""

    def __init__(self, way: str, client: ReconnectingClient) -> None:
        self._way, self._client = way, client

    async def write(self, recording: RecordedCalls) -> None:
        """Write a register."""
        register, token = recording.register(), recording.token()
        way = f"{self._way} command"
        with recording.call(way, Kind.WRITE, registers=(register,), token=token) as call:
            request = alteration(register, token)
            _told(call, await self._client.run(request, request_id=f"id-{token}"))

    async def write_pair(self, recording: RecordedCalls) -> None:
        """Write two registers in a transaction."""
        pair, token = recording.pair(), recording.token()
        steps = tuple([Step.of(ALTER, alteration(register, token)) for register in pair])
        way = f"{self._way} transaction"
        with recording.call(way, Kind.WRITE, registers=pair, token=token) as call:
            _told(call, await self._client.run(Transact(steps=steps), request_id=f"id-{token}"))

    async def read(self, recording: RecordedCalls) -> None:
        """Read a register."""
        await self._read(recording, recording.register())

    async def _read(self, recording: RecordedCalls, register: str) -> Call:
        question = DescribeConfigs(resource_type=CLIENT_METRICS, resource_name=register)
        way = f"{self._way} question"
        with recording.call(way, Kind.READ, registers=(register,)) as call:
            found = (await self._client.page("configs describe", question)).response
            call.values = (_value(found.configs),)
            call.versions = (found.version,)
        return call


def _value(configs: tuple[Any, ...]) -> int | None:
    values = {each.name: each.value for each in configs}
    value = values.get(CONFIG)
    return None if value is None else int(value)


def _told(call: Call, answer: Answer[Any]) -> None:
    call.end = answer.end_offset
    # None for a repeated request.
    if answer.versions:
        versions = {each.object: each.version for each in answer.versions}
        call.versions = tuple([versions.get(object_of(register)) for register in call.registers])


class Appends(Commands):
    """Raw appends, each batch with a request id."""

    async def note(self, recording: RecordedCalls) -> None:
        """Append a note."""
        token = recording.token()
        with recording.call("socket append", Kind.APPEND, token=token) as call:
            _placed(call, await self._client.append(_batch(_note(token), token)))

    async def note_at_the_end(self, recording: RecordedCalls) -> None:
        """Append a note if the log still ends at the last known end offset."""
        token, end = recording.token(), recording.next_end()
        way = "socket append at"
        with recording.call(way, Kind.APPEND_AT, token=token, expected=end) as call:
            batch = _batch(_note(token), token)
            _placed(call, await self._client.append(batch, expected_end_offset=end))

    async def compare_and_write(self, recording: RecordedCalls) -> None:
        """Read a register, and write it if it still has that version."""
        register, token = recording.register(), recording.token()
        seen = await self._read(recording, register)
        if not seen.versions:
            return
        (version,) = seen.versions
        record = ConfigRecord(
            resource_type=CLIENT_METRICS, resource_name=register, name=CONFIG, value=str(token)
        )
        with recording.call(
            "socket append --expect",
            Kind.COMPARE_AND_WRITE,
            registers=(register,),
            token=token,
            expected=version,
        ) as call:
            result = await self._client.append(
                _batch(record, token),
                expected_versions=(ExpectedVersion(object_of(register), version),),
            )
            _placed(call, result)


def _note(token: int) -> NoteRecord:
    return NoteRecord(at_offset=0, author="mixed load", text=str(token))


def _batch(record: Record, token: int) -> NewBatch:
    origin = Origin(request_id=f"id-{token}", request_hash=token.to_bytes(8, "big"))
    return NewBatch(records=(record,), origin=origin)


def _placed(call: Call, result: AppendResult) -> None:
    call.base, call.end = result.base_offset, result.end_offset


class KafkaKeys:
    """Kafka's own requests, which have no request ids and so are not repeated."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: MetadataClient | None = None

    async def close(self) -> None:
        """Disconnect."""
        if self._client is not None:
            await self._client.close()

    async def write(self, recording: RecordedCalls) -> None:
        """Write a register by IncrementalAlterConfigs."""
        client = await self._connected()
        if client is None:
            return
        register, token = recording.register(), recording.token()
        config = AlterableConfig(name=CONFIG, config_operation=0, value=str(token))
        resource = AlterableResource(
            resource_type=CLIENT_METRICS, resource_name=register, configs=(config,)
        )
        with recording.call("kafka key 44", Kind.WRITE, registers=(register,), token=token):
            response = await client.connection.request(
                IncrementalAlterConfigsRequest(resources=(resource,)),
                IncrementalAlterConfigsResponse,
            )
            _check(response.responses[0].error_code)

    async def read(self, recording: RecordedCalls) -> None:
        """Read a register by DescribeConfigs."""
        client = await self._connected()
        if client is None:
            return
        register = recording.register()
        resource = DescribeConfigsResource(resource_type=CLIENT_METRICS, resource_name=register)
        with recording.call("kafka key 32", Kind.READ, registers=(register,)) as call:
            response = await client.connection.request(
                DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse
            )
            _check(response.results[0].error_code)
            configs = [c for c in response.results[0].configs if c.config_source == _SET_HERE]
            call.values = (_value(tuple(configs)),)

    async def _connected(self) -> MetadataClient | None:
        if self._client is None or not self._client.is_open:
            await self.close()
            self._client = None
            with contextlib.suppress(UnavailableError):
                self._client = await MetadataClient.connect(self._url)
        return self._client


def _check(error_code: int) -> None:
    """Raise the error of an error code, such as that the service lost its log."""
    if error_code:
        raise UnavailableError(f"error code {error_code}")
