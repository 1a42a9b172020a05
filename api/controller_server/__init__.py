"""The controller over Kafka's protocol: its listener, and the updates it sends to brokers."""
