"""Commands about a log's past."""
