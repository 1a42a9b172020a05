"""The demo: the real controller's history of a simulated cluster; same seed, same history."""
