"""The socket: length-prefixed binary frames, many requests in flight."""
