"""Kafka's own metadata log directories: reading, importing, exporting and recovering them."""
