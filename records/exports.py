"""Lazy export of a package's public names: each is imported when it is first used.

So a command that needs one module of a package does not wait for the others to be imported.
"""

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, names: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    `dir` lists the public names, for completion, and not the modules that happen to be loaded.

    Args:
        names: For each module name, the module's public names separated by spaces.
    """
    modules = {name: module for module, some in names.items() for name in some.split()}

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"package {package!r} has no public name {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    def listed() -> list[str]:
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*modules, *own})

    return sorted(modules), get, listed
