"""Reading of a whole log, without a lock: at once, or while it grows."""
