"""Background work of a service: snapshots, the SQL history, archiving and retention."""
