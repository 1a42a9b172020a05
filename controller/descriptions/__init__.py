"""What a cluster looks like to those who ask: pure functions of a view, which change nothing."""
