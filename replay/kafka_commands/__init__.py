"""States, and differences of states, as commands of Kafka's own tools."""
