"""The client distribution in a fresh environment, in an application with its own package `api`."""

import asyncio
import hashlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer

import pytest

from api.http.options import HttpOptions
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from records.control import NoteRecord
from tests.api.kafka.servers import server
from tests.api.services import serving
from tests.certificates import Authority

ROOT = Path(__file__).parents[1]
APPLICATION = {
    "api/__init__.py": 'OWN = "the shop"\n',
    "records.py": "def note(text):\n"
    '    data = {"at_offset": 0, "author": "shop", "text": text}\n'
    '    return {"type": "NoteRecord", "data": data}\n',
    "tour.py": """
import sys
import api, records
from metalog_client import Client, MetalogError

client = Client(sys.argv[1], patience_s=1)
first = client.append([records.note("one"), records.note("two")], request_id="r1")
assert client.append([records.note("one"), records.note("two")], request_id="r1") == first
made = client.run("namespaces create", {"name": "shop"}, reason="opening")
print(made["versions"])
for expect in ({"namespace:shop": 0}, {"namespace:shop": None}):
    try:
        client.run("namespaces delete", {"name": "shop"}, expect=expect)
    except MetalogError as error:
        print(error.code, error.outcome, error.current)
client.run("namespaces delete", {"name": "shop"}, expect={"namespace:shop": made["committed_at"]})
found = client.ask("history", object="namespace:shop", from_=first["first_offset"])
print([change["type"] for change in found])
assert client.ask("info")["log_end"] > client.last_offset
try:
    client.ask("info", min_offset=client.last_offset, nonsense=True)
except MetalogError as error:
    print(error.code, error.status)
for record in client.subscribe(first["first_offset"], types=["NoteRecord"]):
    print(record["data"]["text"])
    if record["data"]["text"] == "two":
        break
try:
    import metadata_log
except ModuleNotFoundError:
    print(api.OWN, "alone")
""",
    "lost.py": """
import sys
import records
from metalog_client import Client

client = Client(sys.argv[1])
place = client.append([records.note(text) for text in ("one", "two")])
print(place["records"], place["last_offset"] == client.last_offset)
print([line["data"].get("text") for line in client.ask("dump", from_=place["first_offset"])])
print(client.ask("info")["log_end"] == place["last_offset"] + 1)
for question, field in (("notes list", "notes"), ("features describe", "features"), ("dump", None)):
    whole = client.ask(question)
    pages = []
    for page in client.pages(question, limit=1):
        pages.append(page)
        client.append([records.note("between two pages")])
    items = [item for page in pages for item in (page if field is None else page[field])]
    print(question, len(pages) > 1, items == (whole if field is None else whole[field]))
print(client.ask("report")[:15], client.ask("acls list", filter={"principal": "User:a"})["acls"])
try:
    Client("localhost:8080")
except ValueError as error:
    print(error)
""",
    "untrusted.py": """
import sys
from metalog_client import Client, MetalogError

for url in sys.argv[1:]:
    try:
        Client(url).ask("info")
    except MetalogError as error:
        print(error.outcome, error)
""",
    "nodes.py": """
import sys
from metalog_client import Client, MetalogError

client = Client(sys.argv[1], token="secret", patience_s=float(sys.argv[2]))
for request in sys.argv[3:]:
    try:
        if request == "change":
            print(client.run("namespaces create", {"name": "shop"}))
        else:
            print(client.ask("info", min_offset=9))
    except MetalogError as error:
        print(error.code, error.outcome, error.status)
""",
    "readme.py": """
import re, sys
import metalog_client

url, readme, *token = sys.argv[1:]
(example,) = re.findall("```python\\n(.*?)```", open(readme).read(), re.DOTALL)
at_the_url = metalog_client.Client
metalog_client.Client = lambda written: at_the_url(url, token=(token or [None])[0])
sys.stdout.reconfigure(line_buffering=True)
exec(example)
""",
    "notes.py": """
import sys
import records
from metalog_client import Client

client = Client(sys.argv[1])
seen = client.subscribe(0, types=["NoteRecord"])
for number in range(60):
    client.append([records.note(str(number))])
    print(next(seen)["data"]["text"], flush=True)
""",
}


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs Python in the application's folder with only the client installed."""
    folder = tmp_path_factory.mktemp("application")
    shutil.copytree(ROOT / "client", folder / "client")
    offline = ("--quiet", "--no-index", "--no-deps")
    pip = [sys.executable, "-m", "pip"]
    wheel = [*pip, "wheel", *offline, "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*wheel, str(folder / "client")], check=True)
    (built,) = folder.glob("*.whl")
    venv.create(folder / "fresh")
    python = folder / "fresh/bin/python"
    subprocess.run([*pip, "--python", python, "install", *offline, built], check=True)
    for name, text in APPLICATION.items():
        path = folder / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [str(python), "-I", "-c", _RUN.format(folder=str(folder / "shop"))]


# Isolated from the environment of the tests, but with the folder of the application.
_RUN = """
import runpy, sys
sys.path.insert(0, {folder!r})
runpy.run_path({folder!r} + "/" + sys.argv.pop(1))
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log", "shop")
    return tmp_path / "log"


def test_application_with_an_api_of_its_own_uses_the_service(
    application: list[str], log: Path
) -> None:
    with serving(log, "--http", "127.0.0.1:0") as served:
        printed = subprocess.check_output([*application, "tour.py", served.http], text=True)
    versions, other, absent, history, wrong, *rest = printed.splitlines()
    assert "'object': 'namespace:shop'" in versions
    assert other.startswith("INVALID_UPDATE_VERSION nothing ")
    assert absent == other
    assert history == "['NamespaceRecord', 'RemoveNamespaceRecord']"
    assert wrong == "INVALID_REQUEST 400"
    assert rest == ["one", "two", "the shop alone"]


def test_answers_that_are_lost_half_way_are_asked_for_again(
    application: list[str], log: Path
) -> None:
    with serving(log, "--http", "127.0.0.1:0") as served, cutting(served.http) as url:
        printed = subprocess.check_output([*application, "lost.py", url], text=True)
    assert printed.splitlines() == [
        "2 True",
        "['one', 'two']",
        "True",
        *[f"{question} True True" for question in ("notes list", "features describe", "dump")],
        "<!doctype html> []",
        "'localhost:8080' is not a URL such as http://127.0.0.1:8080",
    ]


@contextmanager
def cutting(url: str) -> Iterator[str]:
    """Yield a URL at which every response is cut off twice: in the head, and in the body."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    before: Counter[bytes] = Counter()

    def handle(request: socket.socket) -> None:
        asked = request.recv(1 << 16)
        while b"\r\n\r\n" not in asked or (asked.startswith(b"POST") and b"two" not in asked):
            asked += request.recv(1 << 16)
        with socket.create_connection((host, int(port))) as service:
            service.sendall(asked)
            answer = b"".join(iter(lambda: service.recv(1 << 16), b""))
        line = asked.partition(b"\r\n")[0]
        before[line] += 1
        in_body = answer.index(b"\r\n\r\n") + 20
        request.sendall(answer[: {1: 10, 2: in_body}.get(before[line])])

    with listening(handle) as own_port:
        yield f"http://127.0.0.1:{own_port}"


@contextmanager
def listening(handle: Callable[[socket.socket], None]) -> Iterator[int]:
    """Yield the port of a server that calls `handle` for each connection, and then closes it."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            handle(self.request)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server_:
        threading.Thread(target=server_.serve_forever, daemon=True).start()
        yield server_.server_address[1]
        server_.shutdown()


def test_service_without_a_trusted_certificate_is_an_error_at_once(
    application: list[str], tmp_path: Path
) -> None:
    own = Authority(tmp_path).issue("service")
    assert own.certificate is not None
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(own.certificate, own.key)
    asked: list[str] = []

    def untrusted(request: socket.socket) -> None:
        asked.append("untrusted")
        with suppress(OSError):
            tls.wrap_socket(request, server_side=True)

    def plain(request: socket.socket) -> None:
        asked.append("plain")
        request.recv(1 << 16)
        request.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with listening(untrusted) as first, listening(plain) as second:
        urls = [f"https://127.0.0.1:{port}" for port in (first, second)]
        printed = subprocess.check_output([*application, "untrusted.py", *urls], text=True)
    assert asked == ["untrusted", "plain"]
    of_certificate, of_plain = printed.splitlines()
    assert of_certificate.startswith("nothing TLS_FAILED: its certificate: ")
    assert of_plain.startswith("unknown TLS_FAILED: no connection: ")


def test_client_goes_where_a_standby_points(application: list[str]) -> None:
    leader, asked = answering(200, body=b'{"committed_at": 7}')
    with listening(leader) as at:
        standby, _ = answering(307, f"Location: http://127.0.0.1:{at}/v1/namespaces/create")
        with listening(standby) as port:
            assert tried(application, f"http://127.0.0.1:{port}") == ["{'committed_at': 7}"]
    (request,) = asked
    assert request.startswith(b"POST /v1/namespaces/create HTTP/1.1")
    assert b"Authorization: Bearer secret" in request
    assert request.endswith(b'{"name": "shop"}')


def test_client_takes_no_token_to_another_scheme(application: list[str]) -> None:
    other, asked = answering(200, body=b"{}")
    with listening(other) as at:
        place = f"Location: https://127.0.0.1:{at}/v1/namespaces/create"
        standby, refused = answering(307, place, body=b'{"code": "NOT_CONTROLLER"}')
        with listening(standby) as port:
            assert tried(application, f"http://127.0.0.1:{port}") == ["NOT_CONTROLLER unknown 307"]
    assert len(refused) > 1
    assert asked == []


def test_node_whose_machine_is_gone_is_passed_over(application: list[str]) -> None:
    leader, asked = answering(200, body=b'{"committed_at": 7}')
    with silent() as gone, listening(leader) as at:
        url = f"http://127.0.0.1:{gone},127.0.0.1:{at}"
        assert tried(application, url, patience_s=20) == ["{'committed_at': 7}"]
    assert len(asked) == 1


def test_node_that_hangs_leaves_time_for_the_next(application: list[str]) -> None:
    leader, asked = answering(200, body=b'{"committed_at": 7}')
    with listening(hanging) as hung, listening(leader) as at:
        url = f"http://127.0.0.1:{hung},127.0.0.1:{at}"
        assert tried(application, url, patience_s=9) == ["{'committed_at': 7}"]
    assert len(asked) == 1


def test_node_that_took_the_whole_patience_is_not_asked_first_again(
    application: list[str],
) -> None:
    leader, _ = answering(200, body=b'{"committed_at": 7}')
    with listening(hanging) as hung, listening(leader) as at:
        url = f"http://127.0.0.1:{hung},127.0.0.1:{at}"
        printed = tried(application, url, "change", "change")
    assert printed == ["UNAVAILABLE unknown 0", "{'committed_at': 7}"]


def hanging(request: socket.socket) -> None:
    while request.recv(1 << 16):
        pass


@pytest.mark.parametrize(
    ("status", "body", "printed"),
    [
        (503, b'{"code": "NOT_CONTROLLER", "outcome": "nothing"}', "UNAVAILABLE unknown 0"),
        (401, b'{"code": "UNAUTHORIZED", "outcome": "nothing"}', "UNAVAILABLE unknown 0"),
        (500, b'{"code": "UNKNOWN", "outcome": "done"}', "UNKNOWN done 500"),
        (200, b'{"committed_at": 7}', "{'committed_at': 7}"),
    ],
)
def test_change_without_an_answer_may_be_made_although_another_node_made_nothing(
    application: list[str], status: int, body: bytes, printed: str
) -> None:
    later, _ = answering(status, body=body)
    attempts: list[socket.socket] = []

    def handle(request: socket.socket) -> None:
        attempts.append(request)
        if len(attempts) > 1:
            later(request)
        else:
            request.recv(1 << 16)  # otherwise the request may not have been sent

    with listening(handle) as port:
        assert tried(application, f"http://127.0.0.1:{port}") == [printed]


def test_refusal_counts_when_the_other_node_could_not_be_reached(application: list[str]) -> None:
    leader, _ = answering(409, body=b'{"code": "NAMESPACE_EXISTS", "outcome": "nothing"}')
    with socket.socket() as closed, listening(leader) as at:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]},127.0.0.1:{at}"
        assert tried(application, url) == ["NAMESPACE_EXISTS nothing 409"]


@pytest.mark.parametrize("request_", ["change", "question"])
def test_client_follows_no_redirect_but_a_standbys(application: list[str], request_: str) -> None:
    other, asked = answering(200)
    with listening(other) as at:
        elsewhere, _ = answering(303, f"Location: http://127.0.0.1:{at}/")
        with listening(elsewhere) as port:
            printed = tried(application, f"http://127.0.0.1:{port}", request_)
    assert printed == ["UNAVAILABLE unknown 303"]
    assert asked == []


def test_offset_that_no_node_has_is_an_error_after_one_round(application: list[str]) -> None:
    behind = b'{"code": "OFFSET_NOT_AVAILABLE", "outcome": "nothing"}'
    first, of_first = answering(503, body=behind)
    second, of_second = answering(503, body=behind)
    with listening(first) as one, listening(second) as two:
        url = f"http://127.0.0.1:{one},127.0.0.1:{two}"
        printed = tried(application, url, "question", "question", patience_s=5)
    assert (len(of_first), len(of_second)) == (2, 2)
    assert printed == ["OFFSET_NOT_AVAILABLE nothing 503"] * 2


def tried(application: list[str], url: str, *requests: str, patience_s: float = 1) -> list[str]:
    """Return what a client prints that makes a change, or the changes and questions given."""
    command = [*application, "nodes.py", url, str(patience_s), *(requests or ["change"])]
    return subprocess.check_output(command, text=True).splitlines()


def answering(
    status: int, *headers: str, body: bytes = b"{}"
) -> tuple[Callable[[socket.socket], None], list[bytes]]:
    """Return a handler with always the same answer, and the list of the requests that it gets."""
    asked: list[bytes] = []
    head = (f"HTTP/1.1 {status} .", "Content-Type: application/json", *headers)

    def handle(request: socket.socket) -> None:
        received = b""
        while not received.endswith(b"\r\n\r\n" if received.startswith(b"GET") else b"}"):
            received += request.recv(1 << 16)
        asked.append(received)
        request.sendall("\r\n".join((*head, "", "")).encode() + body)

    return handle, asked


@contextmanager
def silent() -> Iterator[int]:
    """Yield a port that answers no attempt to connect, as if its machine were switched off."""
    with socket.socket() as full, ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # Linux drops what does not fit into the queue of connections, which nobody takes out.
        for _ in range(2):
            each = waiting.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        yield full.getsockname()[1]


@pytest.mark.parametrize("token", [[], ["..."]], ids=["open", "token"])
async def test_example_of_the_readme_runs_as_it_stands(
    application: list[str], tmp_path: Path, token: list[str]
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"shop:{hashlib.sha256(b'...').hexdigest()}")
    options = HttpOptions.parse("127.0.0.1:0", tokens if token else None)
    async with server(tmp_path, http=options) as at:
        await at.register(1)
        command = [*application, "readme.py", at.http_url, str(ROOT / "client/README.md"), *token]
        example = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert example.stdout is not None
        types: set[str] = set()
        while not {"NoteRecord", "TopicRecord"} <= types:
            line = await example.stdout.readline()
            assert line, "the example ended"
            types.add(line.decode().split()[1])
        example.kill()
        await example.wait()


@pytest.mark.heavy
def test_client_goes_on_when_the_service_was_killed(application: list[str], log: Path) -> None:
    with ExitStack() as closing:
        with serving(log, "--http", "127.0.0.1:0") as served:
            command = [*application, "notes.py", served.http]
            client = closing.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            )
            assert client.stdout is not None
            printed = [client.stdout.readline() for _ in range(20)]
            served.process.kill()
        with serving(log, "--http", served.http.removeprefix("http://")):
            printed += list(client.stdout)
            assert client.wait(timeout=60) == 0
    expected = [str(number) for number in range(60)]
    assert [line.strip() for line in printed] == expected
    assert list(notes(log)) == expected


def notes(log: Path) -> Iterator[str]:
    with LogReader.open(log) as reader:
        for batch in reader.batches():
            for row in batch.rows:
                if isinstance(row.payload, NoteRecord):
                    yield row.payload.text
