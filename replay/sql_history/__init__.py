"""History in SQL: every state that every object had, for plain SELECTs."""
