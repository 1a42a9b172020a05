"""Namespaces, and the effects of moving topics between them."""
