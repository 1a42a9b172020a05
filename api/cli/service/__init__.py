"""Commands that run a service or a broker."""
