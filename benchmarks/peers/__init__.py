"""What others use where we use the log, as a user of theirs would, acknowledging after a sync."""
