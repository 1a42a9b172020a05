"""What to say next: decisions, placement, and the loop that writes them."""
