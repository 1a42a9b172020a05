"""Nodes: processes that share a log, of which one leads and the others stand by."""
