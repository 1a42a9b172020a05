"""Finds a question by name, importing only the module that defines it.

Importing all of them takes longer than most answers: a worker process is asked few questions.
"""

import importlib

from api.questions.question import Question
from records.errors import RequestError

# A question about commands stands above them.
_MODULES = {
    "bisect": ("bisect",),
    "changes": ("history", "blame"),
    "check": ("check",),
    "descriptions": (
        *("topics list", "topics describe", "partitions describe", "partitions removals"),
        *("brokers list", "brokers describe", "configs describe", "configs explain"),
        *("acls list", "acls explain", "features describe", "namespaces list", "users describe"),
        *("subscriptions list", "tokens describe", "quotas describe", "quotas explain"),
    ),
    "differences": ("diff",),
    "lives": ("topics lives",),
    "log_info": ("info",),
    "notes": ("notes list",),
    "objects": ("image", "image kraft", "digest"),
    "outages": ("outages",),
    "overview": ("image overview",),
    "reassignments": ("reassignments list",),
    "report": ("report",),
    "rows": ("dump", "tail"),
    "states": ("partitions states",),
    "timeline": ("timeline",),
    "upgrade": ("upgrade-check",),
    "usage": ("du",),
    "api.requests.what_if": ("what-if",),
    "why": ("why",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

NAMES = frozenset(_MODULE_OF)
"""The names of all questions."""


def find_question(name: str) -> Question:
    """Return a question by name.

    Raises:
        RequestError: INVALID_REQUEST, there is no question of this name.
    """
    module = _MODULE_OF.get(name)
    if module is None:
        raise RequestError("INVALID_REQUEST", f"there is no question {name!r}")
    place = module if "." in module else f"{__package__}.{module}"
    defined = vars(importlib.import_module(place)).values()
    return next(each for each in defined if isinstance(each, Question) and each.name == name)
