"""The sections of `metalog --help`, in their order."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Make a log": ("init", "demo", "import", "fork"),
    "Look at a log": ("info", "image", "dump", "tail", "digest", "du"),
    "Look at the past": (
        *("summary", "history", "blame", "diff", "timeline", "outages", "why", "report", "view"),
        "shell",
    ),
    "Real clusters": ("compare", "confirm", "advise", "upgrade-check", "doctor", "export"),
    "Debug a history": ("bisect", "check", "shrink", "what-if"),
    "Snapshots, SQL and Spark": ("snapshot", "sql", "audit"),
    "Take care of a log": ("verify", "repair", "backup", "restore", "archive", "retain"),
    "Change a cluster": (
        *("topics", "namespaces", "configs", "subscriptions", "brokers", "partitions"),
        *("reassignments", "elect-leaders", "features", "acls", "users", "quotas", "tokens"),
        *("notes", "transaction", "append"),
    ),
    "Run it": ("serve", "broker", "nodes"),
}
"""Commands by title; a command in no section is listed at the end."""
