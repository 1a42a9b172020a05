"""Everything that users and clients get, to compare two states of the code; not a test itself."""
