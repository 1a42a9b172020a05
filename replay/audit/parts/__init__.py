"""The parts of the state, each computed from the records that took effect."""
