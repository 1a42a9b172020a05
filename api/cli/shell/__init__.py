"""The shell: a cluster as a tree, at any point of its log."""
