"""The audit: an independent recomputation in Spark. Imports nothing of replay/image."""
