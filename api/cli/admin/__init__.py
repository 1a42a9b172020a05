"""The admin commands: one module per noun (topics, brokers, ...), imported on first use."""
