"""Replay: from records to images, snapshots, time travel and audit."""
