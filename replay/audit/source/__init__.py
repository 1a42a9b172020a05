"""What `format("metalog")` reads: records, relations, and changes as a stream."""
