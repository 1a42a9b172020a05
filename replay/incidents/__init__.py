"""Incidents: what was down, when, and why. The rules for causes are in docs/causes.md."""
