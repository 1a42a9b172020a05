"""The end of a log: what is proven to be acknowledged, and what a new writer keeps."""
