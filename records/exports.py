"""The public names of a package, each imported when it is first used.

So a command that needs one module of a package does not pay for importing the others.
"""

import importlib
from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, names: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object]]:
    """Return `__all__` and `__getattr__` of a package.

    Args:
        names: By module of the package, the public names in it, separated by spaces.
    """
    modules = {name: module for module, some in names.items() for name in some.split()}

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"package {package!r} has no public name {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return sorted(modules), get
