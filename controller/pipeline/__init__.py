"""The path of a decision's records to the committed state, with many batches in flight."""
