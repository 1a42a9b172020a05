"""Tests of own logs in Kafka's form."""
