"""Reads the metadata log of a Kafka quorum over the network, as an observer without an id."""
