"""Mistakes of a program that uses the library get a clear error at once."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api import LocalAdmin, ServeOptions, Service, serving
from api.cli.main import run
from controller import AddNote, Caller
from metadata_log import LogReader, MirrorBuilder, create_log
from metadata_log.format.batch import NewBatch
from metadata_log.writer.log import MetadataLog
from records import RequestError
from replay.time_travel.objects import parse_object
from replay.timeline import Timeline

CLUSTER = "a-cluster"


@pytest.mark.parametrize(
    "cluster_id",
    ["", "a/b", "../up", "two words", "line\n", "caf\u00e9", "a" * 256, "a" * 100_000],
)
def test_cluster_id_of_another_form_is_refused(cluster_id: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cluster id") as error:
        create_log(tmp_path / "log", cluster_id)
    assert len(str(error.value)) < 200
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("cluster_id", ["x", "AAECAwQFBgcICQoLDA0ODw", "prod.eu-1_b", "a" * 255])
def test_cluster_id_is_stored(cluster_id: str, tmp_path: Path) -> None:
    create_log(tmp_path / "log", cluster_id)
    with LogReader.open(tmp_path / "log") as reader:
        assert reader.cluster_id == cluster_id


async def test_unknown_command_is_refused_by_name(tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER)
    service = await Service.open(tmp_path / "log", with_timers=False)
    try:
        with pytest.raises(RequestError, match="there is no command 'configs altr'"):
            await service.run(
                "configs altr", AddNote(at_offset=0, text=""), caller=Caller(principal="User:a")
            )
    finally:
        await service.close()


async def _log(path: str) -> None:
    await (await MetadataLog.open(path)).close()


async def _service(path: str) -> None:
    await (await Service.open(path, with_timers=False)).close()


async def _serving(path: str) -> None:
    async with serving(ServeOptions(log=path)):
        pass


async def _admin(path: str) -> None:
    admin = LocalAdmin(path, principal="User:a")
    await admin.run("notes add", AddNote(at_offset=0, text="a note"))


async def _reader(path: str) -> None:
    LogReader.open(path).close()


async def _mirror(path: str) -> None:
    with MirrorBuilder(os.path.join(path, "mirror"), CLUSTER):
        pass


@pytest.mark.parametrize("use", [_log, _service, _serving, _admin, _reader, _mirror])
async def test_path_may_be_a_string(use: Callable[[str], Any], tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    create_log(path, CLUSTER)
    await use(path)


@pytest.mark.parametrize("with_snapshot", [False, True])
@pytest.mark.parametrize("point", ["end", "2026-01-01T08:00:00Z", 2.5])
def test_point_that_is_no_offset_is_refused_by_name(
    tmp_path: Path, point: Any, with_snapshot: bool
) -> None:
    create_log(tmp_path / "log", CLUSTER)
    if with_snapshot:
        assert run(["snapshot", "create", str(tmp_path / "log")]) == 0
    with LogReader.open(tmp_path / "log") as reader:
        timeline = Timeline.of(reader)
        for question in (timeline.image, lambda at: timeline.why(parse_object("broker:1"), at)):
            with pytest.raises(RequestError, match=f"{point!r} is not an offset"):
                question(point)


@pytest.mark.parametrize("records", [("x",), (None,), (1,)])
async def test_batch_of_what_is_no_record_is_refused_by_its_type(
    tmp_path: Path, records: Any
) -> None:
    create_log(tmp_path / "log", CLUSTER)
    log = await MetadataLog.open(tmp_path / "log")
    try:
        name = type(records[0]).__name__
        with pytest.raises(RequestError) as error:
            await log.append(NewBatch(records=records))
        assert str(error.value) == f"the batch cannot be encoded: {name} is not a record type"
    finally:
        await log.close()
