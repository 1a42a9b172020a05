"""Brokers and controllers: their registrations, and what they report."""
