"""Panels and queries that the dashboards are made of."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from grafana_foundation_sdk.builders.common import ReduceDataOptions, StackingConfig
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DatasourceVariable,
    QueryVariable,
    ThresholdsConfig,
)
from grafana_foundation_sdk.builders.prometheus import Dataquery as PrometheusQuery
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.statetimeline import Panel as StateTimeline
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as TimeSeries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    DataSourceRef,
    GraphDrawStyle,
    LineInterpolation,
    StackingMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
)

PROMETHEUS = DataSourceRef(type_val="prometheus", uid="${datasource}")
POSTGRESQL = DataSourceRef(type_val="grafana-postgresql-datasource", uid="${datasource}")

_Panel = TypeVar("_Panel")

WIDTH = 24
"""Columns of a dashboard."""

States = Mapping[str, tuple[str, str]]
"""Text and colour by value."""


class Sql(Dataquery):
    """A query in SQL, for which the library has no class; rows or, if `is_series`, time series."""

    datasource = POSTGRESQL

    def __init__(self, text: str, *, is_series: bool) -> None:
        self._text, self._format = text, "time_series" if is_series else "table"

    def to_json(self) -> dict[str, object]:
        """Return the query as Grafana stores it."""
        return {
            "refId": "A",
            "datasource": self.datasource,
            "editorMode": "code",
            "format": self._format,
            "rawQuery": True,
            "rawSql": self._text,
        }


class _Built(Builder[Dataquery]):
    def __init__(self, query: Dataquery) -> None:
        self._query = query

    def build(self) -> Dataquery:
        return self._query


def sql(text: str, *, is_series: bool = False) -> Builder[Dataquery]:
    """Return a query in SQL; a time series has the columns `time`, `metric` and `value`."""
    return _Built(Sql(text, is_series=is_series))


def promql(expression: str, legend: str = "", *, ref: str = "A") -> PrometheusQuery:
    """Return a query over the range of the dashboard."""
    query = PrometheusQuery().datasource(PROMETHEUS).expr(expression).range().ref_id(ref)
    return query.legend_format(legend) if legend else query


def dashboard(uid: str, title: str, description: str, source: DataSourceRef) -> Dashboard:
    """Return an empty dashboard, whose data source is chosen on the page."""
    chosen = DatasourceVariable("datasource").label("Data source").type(str(source.type_val))
    found = Dashboard(title).uid(uid).description(description).tags(["metalog"]).editable()
    return found.tooltip(DashboardCursorSync.CROSSHAIR).with_variable(chosen)


def chosen_values(name: str, label: str, query: str, source: DataSourceRef) -> QueryVariable:
    """Return a variable: values that are chosen on the page, at first all."""
    variable = QueryVariable(name).label(label).datasource(source).query(query)
    return variable.multi(True).include_all(True).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)


def number(title: str, help_: str, query: Builder[Dataquery], *, bad: float | None = None) -> Stat:
    """Return a panel with a number, red from `bad` on."""
    steps = [Threshold(value=None, color="green")]
    if bad is not None:
        steps.append(Threshold(value=bad, color="red"))
    panel = _asking(Stat(), title, help_, query).span(WIDTH // 6).height(4)
    panel = panel.reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
    panel = panel.color_mode(BigValueColorMode.VALUE).graph_mode(BigValueGraphMode.NONE)
    return panel.thresholds(ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))


def lines(
    title: str,
    help_: str,
    *queries: Builder[Dataquery],
    unit: str = "short",
    is_stepped: bool = False,
) -> TimeSeries:
    """Return a chart of half the width; `is_stepped`: a value holds until the next."""
    panel = _asking(TimeSeries(), title, help_, *queries).unit(unit).min(0)
    panel = panel.span(WIDTH // 2).height(8).fill_opacity(10)
    if is_stepped:
        panel = panel.line_interpolation(LineInterpolation.STEP_AFTER)
    return panel.show_points(VisibilityMode.NEVER)


def bars(title: str, help_: str, query: Builder[Dataquery]) -> TimeSeries:
    """Return a chart of stacked bars over the whole width."""
    panel = _asking(TimeSeries(), title, help_, query).span(WIDTH).height(7)
    panel = panel.draw_style(GraphDrawStyle.BARS).fill_opacity(80)
    return panel.stacking(StackingConfig().mode(StackingMode.NORMAL))


def states(
    title: str, help_: str, query: Builder[Dataquery], by: States, *, width: int = WIDTH // 2
) -> StateTimeline:
    """Return a chart with a row for each object, coloured by its state."""
    options = {
        value: ValueMappingResult(text=text, color=color, index=index)
        for index, (value, (text, color)) in enumerate(by.items())
    }
    panel = _asking(StateTimeline(), title, help_, query).span(width).height(8)
    panel = panel.mappings([ValueMap(options=options)])
    return panel.merge_values(True).show_value(VisibilityMode.AUTO)


def rows(title: str, help_: str, text: str) -> Table:
    """Return a table of the whole width."""
    return _asking(Table(), title, help_, sql(text)).span(WIDTH).height(8)


def _asking(panel: _Panel, title: str, help_: str, *queries: Builder[Dataquery]) -> _Panel:
    """Return a panel of any kind with its title, its help and its queries."""
    building: Any = panel  # the kinds share no class
    source = cast("Any", queries[0].build()).datasource
    found: _Panel = building.title(title).description(help_).datasource(source).targets([*queries])
    return found


def queries_of(document: Any) -> Sequence[tuple[str, str]]:
    """Return the title of the panel, or the name of the variable, and the text of each query."""
    panels = [each for each in document["panels"] if each["type"] != "row"]
    found = [
        (panel["title"], target.get("expr") or target["rawSql"])
        for panel in panels
        for target in panel["targets"]
    ]
    variables = [of for of in document["templating"]["list"] if of["type"] == "query"]
    return [*found, *[(of["name"], of["query"]) for of in variables]]
