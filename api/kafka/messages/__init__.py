"""Kafka's requests and responses, one module per subject; each class defines its own layout."""
