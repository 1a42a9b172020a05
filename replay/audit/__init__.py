"""An independent recomputation in Spark. Imports nothing of replay/image."""
