"""Clients of a running service: typed requests over Kafka's protocol or the socket."""
