"""Requests and responses, one module a subject; each class is the table of its layout."""
