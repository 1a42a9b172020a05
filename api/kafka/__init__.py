"""Kafka's protocol: messages, frames, connections, and the listener."""
