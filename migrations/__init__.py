"""Schema migrations of the snapshot database, run by Alembic.

`replay.snapshot.schema` runs them; no other package imports them.
"""
