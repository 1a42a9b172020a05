"""The immutable image of a cluster, and the delta that computes the next image. Does no I/O."""
