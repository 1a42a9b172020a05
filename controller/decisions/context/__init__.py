"""The input of a decision, and what is derived from the image for it."""
