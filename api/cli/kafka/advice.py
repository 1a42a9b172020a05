"""The `advise` command: advice on recovering a Kafka cluster after a lost quorum."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import Json
from api.cli.source.source import kafka_path
from api.cli.terminal.errors import FOUND
from api.cli.terminal.output import print_json, print_line
from api.cli.terminal.prose import print_prose
from records.errors import RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from api.questions.advice import Advice, Advised
    from records.control import VoterEndpoint
    from replay.incidents.at_risk import AtRisk

_CHANGES_SHOWN_MAX = 10


@command()
def advise(
    directories: Annotated[
        list[Path],
        Argument(
            metavar="DIR...",
            help="Directories of all surviving controllers and brokers.",
            show_default=False,
            parser=kafka_path,
        ),
    ],
    voters: Annotated[
        str,
        Option(
            metavar="ID,ID",
            help="Ids of the voters of a static quorum; needed if no log names the voters.",
        ),
    ] = "",
    kafka: Annotated[
        str, Option(metavar="VERSION", help="Kafka version of the cluster, such as 3.7.")
    ] = "",
    write: Annotated[
        Path | None,
        Option(metavar="NEW", help="New directory to write the seed to; it must not exist yet."),
    ] = None,
    lost_are_down: Annotated[
        bool,
        Option(
            "--lost-are-down",
            help="For --write: confirm that the lost controllers are down and stay down.",
        ),
    ] = False,
    accept_loss: Annotated[
        bool,
        Option(
            "--accept-loss",
            help="For --write: accept that committed changes may be missing in the seed.",
        ),
    ] = False,
    node: Annotated[
        int | None,
        Option(
            metavar="ID",
            help="For --write: id of the controller that will run the seed; default: the voter "
            "whose directory becomes the seed, or if none does, the voter with the latest log end.",
        ),
    ] = None,
    endpoint: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=HOST:PORT",
            help="For --write: address of the controller's listener, if the log does not name the "
            "listener; repeatable.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """After a lost quorum: show which directory to start from, and what is lost.

    Reads directories only. Exits with 1 if the choice is refused or not certain, or if Kafka cannot
    load the log.
    """
    from msgspec.structs import replace

    from api.questions.advice import advise as advised
    from metadata_log.kraft.quorum.rule import SEED

    found = advised(directories, _voters(voters), _version(kafka))
    advice = found.advice
    if write is not None:
        if advice.verdict != SEED:
            raise RequestError("REFUSED", f"nothing is written: {advice.reason}")
        _write(found, write, node, endpoint or [], lost_are_down, accept_loss)
        advice = replace(advice, written=str(write))
    if json:
        print_json(advice, found.about)
    else:
        _print(advice)
    return 0 if advice.certain and advice.contradiction is None else FOUND


def _version(text: str) -> tuple[int, int] | None:
    from api.questions.advice import version_of

    try:
        return version_of(text) if text else None
    except ValueError as error:
        raise bad_parameter(str(error), param_hint="--kafka") from None


def _voters(text: str) -> frozenset[int]:
    """Parse voter ids, or entries of `controller.quorum.voters`: ID@HOST:PORT."""
    try:
        return frozenset(int(each.partition("@")[0]) for each in text.split(",") if each)
    except ValueError:
        hint = "--voters"
        raise bad_parameter(f"{text!r} are no ids such as 1,2,3", param_hint=hint) from None


def _write(
    found: "Advised",
    target: Path,
    node: int | None,
    endpoint: list[str],
    lost_are_down: bool,
    accept_loss: bool,
) -> None:
    from controller.decisions.levels import record_version
    from replay.care.seed_directory import runner_of, write_seed

    nodes, verdict, _ = found
    if not lost_are_down:
        raise RequestError(
            "REFUSED",
            "nothing is written: the directories do not show whether the lost controllers still "
            "run; if they are down and stay down, add --lost-are-down",
        )
    if not (verdict.certain or accept_loss):
        raise RequestError(
            "REFUSED",
            f"nothing is written: committed changes may be missing ({verdict.unknown[0]}); to "
            "accept that, add --accept-loss",
        )
    for each in nodes:
        if target.resolve().is_relative_to(Path(each.name).resolve()):
            raise RequestError(
                "INVALID_REQUEST",
                f"{target} is in {each.name}, which this command must not write to; "
                "choose a new directory elsewhere",
            )
    runner = runner_of(verdict, nodes, node, tuple(map(_endpoint, endpoint)))
    write_seed(verdict, runner, target, record_version=record_version)


def _endpoint(text: str) -> "VoterEndpoint":
    from records.control import VoterEndpoint

    name, _, address = text.partition("=")
    host, _, port = address.rpartition(":")
    if not (name and host and port.isdigit()):
        hint = "--endpoint"
        raise bad_parameter(f"{text!r} is not NAME=HOST:PORT", param_hint=hint)
    return VoterEndpoint(name=name, host=host.strip("[]"), port=int(port))


def _print(advice: "Advice") -> None:
    print_prose("verdict: ", advice.verdict)
    if advice.verdict == "seed":
        print_prose("seed:    ", str(advice.seed))
        print_prose("certain: ", "yes" if advice.certain else "no")
    print_prose("why:     ", advice.reason)
    if advice.contradiction is not None:
        print_prose("but:     ", f"Kafka stops when it loads this log: {advice.contradiction}")
    print_line(f"proven committed below offset {advice.proven_end}")
    lost = [each for each in advice.at_risk if not each.kept]
    kept = [each for each in advice.at_risk if each.kept]
    _print_changes("lost with this choice", lost[:_CHANGES_SHOWN_MAX], len(lost))
    # Most likely what came last was not committed.
    _print_changes(
        "kept, and committed by this choice", kept[-_CHANGES_SHOWN_MAX:], len(kept), are_last=True
    )
    if advice.unknown:
        print_line("cannot be known:")
    for line in advice.unknown:
        print_prose("  - ", line)
    print_line("steps:")
    for number, line in enumerate(advice.steps, 1):
        print_prose(f"{number:>3}. ", line)
    if advice.written is not None:
        print_prose("written: ", advice.written)


def _print_changes(
    title: str, changes: "Sequence[AtRisk]", count: int, *, are_last: bool = False
) -> None:
    if not changes:
        return
    shown = f" ({'last' if are_last else 'first'} {len(changes)} of {count:,})"
    print_line(f"{title}{shown if len(changes) < count else ''}:")
    for each in changes:
        print_prose(f"  {each.offset}: ", f"{each.text} (on {', '.join(each.on)})")
