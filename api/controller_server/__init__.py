"""The controller over Kafka's protocol: its listener, and what it pushes to each broker."""
