"""Commands about clusters of Kafka."""
