"""Care of a log that requires replay: proof of copies, and the base when history is cut."""
