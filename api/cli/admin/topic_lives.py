"""The `topics lives` command: shows all topics that successively had a given name."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.look import Look, reading
from api.cli.admin.topics import app
from api.cli.options.parameters import Argument
from api.cli.source.origins import by_text, print_unknown_origin
from api.cli.terminal.output import note, print_table, time_text

if TYPE_CHECKING:
    from api.documents.incidents import Lives
    from api.questions.lives import Border


@reading(app)
def lives(
    look: Look,
    name: Annotated[
        str,
        Argument(
            metavar="TOPIC",
            help="Full name of a topic, @ID, or a pattern; of a pattern's names only those that "
            "several topics have had are shown.",
            show_default=False,
        ),
    ],
) -> None:
    """Show every topic that has had a name, with its id, and who created and deleted it, when."""
    from api.questions.lives import ShowLives
    from replay.name_patterns import is_pattern

    names = is_pattern(name)
    look.show(
        "topics lives", ShowLives(name=name), lambda found: _print_lives(found, with_names=names)
    )


def _print_lives(found: "Lives", *, with_names: bool) -> None:
    if not found.lives:
        note("no name came back")
    columns = ("id", "partitions", "began", "", "", "ended", "", "")
    print_table(
        ("topic", *columns) if with_names else columns,
        [
            (
                *([life.name] if with_names else []),
                life.topic_id,
                life.partitions,
                *_cells(life.began, "before the kept history"),
                *_cells(life.ended, "it still exists"),
            )
            for life in found.lives
        ],
    )
    borders = [
        each for life in found.lives for each in (life.began, life.ended) if each is not None
    ]
    print_unknown_origin(each.origin for each in borders)


def _cells(border: "Border | None", otherwise: str) -> tuple[object, ...]:
    if border is None:
        return otherwise, "", ""
    return time_text(border.timestamp), border.offset, f"{border.how}{by_text(border.origin)}"
