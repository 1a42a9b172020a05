"""Checks for obstacles to upgrading or downgrading a Kafka cluster."""
