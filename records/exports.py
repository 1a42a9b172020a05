"""Lazy export of a package's public names: each is imported when it is first used.

So a command that needs one module of a package does not wait for the others to be imported.
"""

import importlib
from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, names: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object]]:
    """Return `__all__` and `__getattr__` of a package.

    Args:
        names: For each module name, the module's public names separated by spaces.
    """
    modules = {name: module for module, some in names.items() for name in some.split()}

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"package {package!r} has no public name {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return sorted(modules), get
