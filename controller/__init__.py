"""The controller: decisions, placement, and the serial loop that writes their records."""
