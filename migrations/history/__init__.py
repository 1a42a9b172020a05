"""Migrations of the SQL history."""
