"""Connections of any protocol: listening, limits, buffers, TLS renewal and shutdown."""
