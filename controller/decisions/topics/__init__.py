"""Topics: creation and deletion, growth and shrinking, subscriptions."""
