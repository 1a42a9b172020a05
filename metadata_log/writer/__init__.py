"""Writers of logs and mirrors: how a batch becomes durable."""
