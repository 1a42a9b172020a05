"""The append socket: length-prefixed binary frames; many requests may be in flight at once."""
