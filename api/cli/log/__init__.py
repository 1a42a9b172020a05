"""Commands about one log: its contents, its copies, its records."""
