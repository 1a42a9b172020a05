"""The parts of the state, computed from the records that took effect."""
