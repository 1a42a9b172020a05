"""Questions about the past: points, diff, history, blame."""
