"""Features: describe, upgrade, downgrade."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.admin.options import ValidateOnly
from api.cli.options.parameters import Argument, bad_parameter
from api.cli.parser.typer_app import App
from api.cli.terminal.output import print_table

if TYPE_CHECKING:
    from api.documents.features import FeatureList

app = App()

_LEVEL_DIGITS_MAX = 5

_Levels = Annotated[
    list[str],
    Argument(
        metavar="FEATURE=LEVEL...", help="Feature levels; 0 removes a feature.", show_default=False
    ),
]


@reading(app)
def describe(look: Look) -> None:
    """Describe the level of each feature, and the levels that this release can write."""
    from controller.descriptions.features import DescribeFeatures

    look.show("features describe", DescribeFeatures(), _print_features)


def _print_features(found: "FeatureList") -> None:
    from records.metadata_versions import feature_level_text

    rows = [
        (f.feature, feature_level_text(f.feature, f.level), "{} to {}".format(*f.supported))
        for f in found.features
    ]
    print_table(("feature", "level", "supported"), rows)


@changing(app)
def upgrade(ask: AdminClient, levels: _Levels, validate_only: ValidateOnly = False) -> int:
    """Raise feature levels: all of them, or none."""
    return _update(ask, levels, "upgrade", validate_only=validate_only)


@changing(app)
def downgrade(ask: AdminClient, levels: _Levels, validate_only: ValidateOnly = False) -> int:
    """Lower feature levels, all or none; refused if a lower level would lose data."""
    return _update(ask, levels, "safe downgrade", validate_only=validate_only)


def _update(ask: AdminClient, levels: list[str], kind: str, *, validate_only: bool) -> int:
    from api.documents.changes import FeatureLevel
    from controller.decisions.features.levels_in_use import (
        FeatureUpdate,
        UpdateFeatures,
        UpgradeType,
    )

    updates = tuple(
        [
            FeatureUpdate(name=name, level=level, upgrade_type=UpgradeType(kind))
            for name, level in map(_parsed, levels)
        ]
    )
    result = ask.run(
        "features update", UpdateFeatures(updates=updates, validate_only=validate_only)
    )
    verb = "can be" if validate_only else "is"
    items = [
        Item(
            answer=FeatureLevel(feature=update.name, level=update.level),
            lines=(f"{update.name} {verb} at level {update.level}",),
        )
        for update in updates
    ]
    return ask.report(result, items, validate_only=validate_only)


def _parsed(text: str) -> tuple[str, int]:
    name, _, level = text.partition("=")
    if not (name and level.isascii() and level.isdigit() and len(level) <= _LEVEL_DIGITS_MAX):
        raise bad_parameter(f"{text!r} is not a level; write FEATURE=LEVEL")
    return name, int(level)
