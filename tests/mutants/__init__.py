"""Mutants: small changes to the code that some test must notice (`make mutants`)."""
