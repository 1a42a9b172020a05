"""History in SQL: every state that any object had, for plain SELECTs."""
