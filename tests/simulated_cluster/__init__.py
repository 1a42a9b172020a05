"""A simulated cluster that generates random records a controller could write next."""
