"""The immutable image of a cluster, and the delta that makes the next one. Pure."""
