"""A disk that loses what was not synced, and what is needed to break a log on it."""
