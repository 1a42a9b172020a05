"""The demo: a history made by the real controller over a simulated cluster; same seed, same
history.
"""
