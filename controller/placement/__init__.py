"""Where the replicas of new partitions go. Pure: the randomness comes in from outside."""
