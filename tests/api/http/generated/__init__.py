"""Clients that generators make from the OpenAPI document, used against a service."""
