"""What a command asks: a log or a service."""
