"""A history made by the real controller over a simulated cluster, the same for the same seed."""
