"""Three real nodes over one PostgreSQL, their faults, and clients that keep what they were told."""
