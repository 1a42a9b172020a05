"""A cluster that says, at random, what a controller could write next."""
