"""The Avro encoding of the log: its schema, and the codec for the rows of a batch."""
