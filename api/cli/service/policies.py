"""An operator's policies: Python functions that check new topics and changes of configs.

A config gives a policy as `package.module:function`. The function is called with a `PlannedTopic`
or `PlannedConfigs` and raises RequestError POLICY_VIOLATION to refuse it.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from api.cli.options.parameters import bad_parameter
from records.errors import RequestError


def policy_of(configs: Mapping[str, str], name: str) -> Callable[[Any], None] | None:
    """Return the policy given by the config `name`; None if the config is not set.

    Raises:
        typer.BadParameter: there is no such function.
    """
    path = configs.get(name, "")
    return _checking(path, _function(path, name)) if path else None


def _function(path: str, name: str) -> Callable[[Any], None]:
    module, _, function = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise bad_parameter(
            f"{path!r} is no package.module:function: {error}", param_hint=f"--config {name}"
        ) from None
    if not callable(found):
        raise bad_parameter(f"{path!r} is no function", param_hint=f"--config {name}")
    policy: Callable[[Any], None] = found
    return policy


def _checking(path: str, policy: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return the policy, wrapped so that any error that it raises refuses the request."""

    def check(planned: Any) -> None:
        try:
            policy(planned)
        except RequestError:
            raise
        except Exception as error:
            raise RequestError(
                "POLICY_VIOLATION", f"the policy {path} failed: {type(error).__name__}: {error}"
            ) from error

    return check
