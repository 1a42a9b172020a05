"""The past decided anew: record for record as it was, or with changes."""
