"""Migrations of a shared log in PostgreSQL."""
