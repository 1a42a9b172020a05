"""What was asked: the inputs and answer of a decision, logged with its records."""
