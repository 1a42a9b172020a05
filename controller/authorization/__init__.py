"""Authorization: callers and their rights."""
