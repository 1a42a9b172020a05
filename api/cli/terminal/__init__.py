"""Output of commands: text, JSON, errors, progress."""
