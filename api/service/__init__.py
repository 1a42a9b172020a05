"""The service on one log: decides commands, answers questions, and feeds subscribers."""
