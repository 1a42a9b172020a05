"""Bugs that are planted in a copy of the log, to prove that the campaigns notice them."""
