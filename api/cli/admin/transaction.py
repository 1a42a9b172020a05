"""The `transaction` command: runs several commands atomically, from a file of JSON lines."""

from typing import IO, TYPE_CHECKING, Annotated

import typer

from api.cli.admin.admin_client import Item
from api.cli.admin.change import changing
from api.cli.admin.options import ValidateOnly
from api.cli.app import app
from api.cli.options.parameters import Argument
from records.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from api.cli.admin.admin_client import AdminClient
    from api.requests.transactions import Step


@changing(app, "transaction")
def transaction(
    ask: "AdminClient",
    file: Annotated[
        typer.FileBinaryRead,
        Argument(
            metavar="FILE",
            help='File with lines such as {"command": "topics delete", "request": {"topics": '
            '["a"]}}; - is standard input.',
            show_default=False,
        ),
    ],
    validate_only: ValidateOnly = False,
) -> int:
    """Carry out several commands: all of them, or none.

    Each step sees the effects of the earlier steps. If a step, or an item of a step, is refused,
    nothing is done, and the error names the step.
    """
    from api.documents.changes import StepDone
    from api.requests.commands import find_command, step_responses
    from api.requests.json_requests import json_value, request_from_json
    from api.requests.transactions import Step, Transact

    def step_of(name: str, fields: object) -> Step:
        command = find_command(name)
        return Step.of(command.name, request_from_json(fields, command.request))

    request = Transact(steps=tuple(_steps(file, step_of)), validate_only=validate_only)
    result = ask.run("transaction", request)
    verb = "can be done" if validate_only else "done"
    items = [
        Item(
            answer=StepDone(
                command=step.command,
                response=json_value(response, find_command(step.command).response),
            ),
            lines=(f"step {number}, {step.command}: {verb}",),
        )
        for number, (step, response) in enumerate(
            zip(request.steps, step_responses(result.response), strict=True), 1
        )
    ]
    return ask.report(result, items, validate_only=validate_only)


def _steps(file: IO[bytes], step_of: "Callable[[str, object], Step]") -> "list[Step]":
    """Parse the steps of a transaction.

    Args:
        step_of: Returns the step of a command's name and the fields of its request.

    Raises:
        RequestError: INVALID_REQUEST, a line is not a step; the message gives its number.
    """
    import json

    steps = []
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            step = json.loads(line)
            if not isinstance(step, dict) or set(step) != {"command", "request"}:
                raise RequestError("INVALID_REQUEST", "a step needs a command and a request")
            steps.append(step_of(step["command"], step["request"]))
        except (ValueError, TypeError, RecursionError) as error:
            raise RequestError("INVALID_REQUEST", f"line {number}: not JSON: {error}") from error
        except RequestError as error:
            raise RequestError(error.code, f"line {number}: {error}") from error
    return steps
