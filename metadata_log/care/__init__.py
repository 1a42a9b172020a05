"""Maintenance of a log's files: verify, repair, back up, restore, archive, retain."""
