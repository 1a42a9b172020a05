"""Recovery after a lost quorum: what the surviving directories prove, and which one is the seed."""
