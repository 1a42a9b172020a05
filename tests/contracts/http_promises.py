"""A program: what the HTTP client promises, asked for again and again until standard input ends.

It prints a line of JSON for each round: what it found, by promise, without offsets, so that each
service has to give the same lines.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from metalog_client import Client, MetalogError

_PATIENCE_S = 120.0
"""A busy machine may be without a leader for long."""


def main(url: str) -> None:
    client, ended = Client(url, patience_s=_PATIENCE_S), threading.Event()
    threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    seen, number = client.subscribe(0, types=["NoteRecord"]), 0
    while not ended.is_set():
        print(json.dumps(found(client, seen, number)), flush=True)
        number += 1


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def found(client: Client, seen: Iterator[dict[str, Any]], number: int) -> dict[str, Any]:
    """Return what one round finds, by promise."""
    return (
        _of_appends(client, seen, str(number))
        | _of_changes(client, f"org-{number}")
        | _of_pages(client)
    )


def _of_appends(client: Client, seen: Iterator[dict[str, Any]], text: str) -> dict[str, Any]:
    place = client.append([_note(text)], request_id=f"note-{text}")
    again = client.append([_note(text)], request_id=f"note-{text}")
    dumped = client.ask("dump", from_=place["first_offset"], to=place["last_offset"])
    behind = partial(
        client.append,
        [_note("never")],
        request_id=f"never-{text}",
        expected_end_offset=place["first_offset"],
    )
    refused = _refusal(behind)
    return {
        "appended": place["records"],
        "again": again == place,
        "dumped": [line["data"]["text"] for line in dumped],
        "seen": next(seen)["data"]["text"],
        "behind the log's end": [refused.code, refused.outcome, refused.status],
    }


def _of_changes(client: Client, name: str) -> dict[str, Any]:
    versioned, delete = f"namespace:{name}", partial(client.run, "namespaces delete")
    made = client.run("namespaces create", {"name": name}, reason="new", expect={versioned: None})
    version = made["committed_at"]
    wrong = partial(delete, {"name": name}, request_id=f"never-{name}", expect={versioned: 0})
    refused = _refusal(wrong)
    is_current = refused.current == str(version)
    named = [each["name"] for each in client.ask("namespaces list")["namespaces"]]
    delete({"name": name}, expect={versioned: version})
    left = [each["name"] for each in client.ask("namespaces list")["namespaces"]]
    history = client.ask("history", object=versioned, from_=version)
    return {
        "created": [each["object"] for each in made["versions"]],
        "other version": [refused.code, refused.outcome, is_current, refused.status],
        "reads its writes": [name in named, name in left],
        "history": [change["type"] for change in history],
    }


def _of_pages(client: Client) -> dict[str, Any]:
    whole, pages = client.ask("features describe"), []
    for page in client.pages("features describe", limit=1):
        pages.append(page)
        client.run("configs set", _LOUDER if len(pages) % 2 else _QUIETER)
    return {
        "pages": [each for page in pages for each in page["features"]] == whole["features"],
        "of one image": len({page["as_of"] for page in pages}),
    }


def _set(value: str) -> Mapping[str, Any]:
    change = {"name": "log.retention.ms", "value": value}
    return {"resources": [{"resource_type": "BROKER", "resource_name": "", "changes": [change]}]}


_LOUDER, _QUIETER = _set("1000"), _set("2000")


def _note(text: str) -> dict[str, Any]:
    return {"type": "NoteRecord", "data": {"at_offset": 0, "author": "ann", "text": text}}


def _refusal(change: Callable[[], object]) -> MetalogError:
    """Return why a change is refused.

    A refusal after an attempt without an answer is told as unknown, since that attempt may be
    committed. The same request id finds out, as often as a leader ends meanwhile.
    """
    while True:
        try:
            change()
        except MetalogError as error:
            if error.outcome != "unknown":
                return error
        else:
            raise AssertionError("a change was made that should have been refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
