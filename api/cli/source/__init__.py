"""The source of a command's answers: a log or a service."""
