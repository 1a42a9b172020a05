"""Kafka's binary encoding of the records, from the layouts in the schemas (`kafka`)."""
