"""Which configs each kind of resource may have."""
