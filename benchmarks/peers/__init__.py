"""Other systems to compare the log with, used as their users would use them.

Each of them syncs before it acknowledges.
"""
