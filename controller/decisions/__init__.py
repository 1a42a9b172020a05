"""Pure handlers: image and request in, records and response out."""
