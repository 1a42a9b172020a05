"""What is printed: text, JSON, errors, progress."""
