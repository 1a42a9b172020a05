"""Quotas of clients, and limits of namespaces."""
