"""What a tenant may learn of another: nothing."""
