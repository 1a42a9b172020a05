"""A client of a metalog service over HTTP."""

from metalog_client.client import Client
from metalog_client.errors import MetalogError

__all__ = ["Client", "MetalogError"]
