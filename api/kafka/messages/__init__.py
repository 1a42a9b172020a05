"""Requests and responses, one module per subject; each class defines its layout."""
