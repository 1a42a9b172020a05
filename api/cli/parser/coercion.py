"""Converts command-line values without pydantic.

Typer creates a pydantic adapter for each parameter, even for those not given, and importing
pydantic takes longer than everything else in a short command. Most parameters are plain strings.
Typer converts values of other types, and invalid ones, for which it has the error messages.
"""

from pathlib import Path
from typing import Any

from typer import core
from typer._coercion import RuntimeParam, build_runtime_param
from typer._param_types import coerce_cli_path

from api.cli.parser.quick import number_of, text_of


def without_pydantic(params: list[Any]) -> list[Any]:
    """Make a command's parameters convert plain values themselves; return the parameters."""
    for param in params:
        if isinstance(param, core.TyperOption | core.TyperArgument) and not param._runtime_param:
            descriptor = param.type_descriptor
            param._runtime_param = _Plain(descriptor.parameter_info, descriptor.annotation)
    return params


class _Plain(RuntimeParam):
    """Converts plain values of one parameter (text, numbers, paths); leaves others to typer."""

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return self._converted(value, param, ctx)
        except ValueError:
            return build_runtime_param(param.type_descriptor)._coerce_value(value, param, ctx)

    def _converted(self, value: Any, param: Any, ctx: Any) -> Any:
        info, annotation = self.parameter_info, self.annotation
        if info.parser is not None and isinstance(value, str):
            return info.parser(value)
        if annotation is str:
            return text_of(value)
        if annotation == list[str]:
            return [text_of(item) for item in value]
        if annotation is int and not info.clamp:
            return number_of(value, info.min, info.max)
        if annotation is Path and info.path_type is None:
            path = Path(text_of(value))
            return coerce_cli_path(path, info, path_type=Path, param=param, ctx=ctx)
        raise ValueError(f"{annotation} is not plain")
