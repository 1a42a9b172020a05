"""A simulated disk that loses unsynced data, and the tools to test a log on it."""
