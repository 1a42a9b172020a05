"""Namespaces, and what moves of topics between them change."""
