"""Recovery after a lost quorum: what the surviving directories prove, and which is the seed."""
