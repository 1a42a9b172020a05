"""Raw appends: records that a client sends itself, and their checks."""
