"""Images at rest in SQL."""
