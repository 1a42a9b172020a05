"""How the database of snapshots came to be: one migration a step, run by Alembic.

`replay.snapshot.schema` runs them; nothing here is imported by other rooms.
"""
