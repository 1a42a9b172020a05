"""What stands in the way when a Kafka cluster goes to another version."""
