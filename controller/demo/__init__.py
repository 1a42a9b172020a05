"""The demo: the real controller writes the history of a simulated cluster from a seed."""
