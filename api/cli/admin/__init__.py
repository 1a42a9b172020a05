"""The admin verbs: one module per noun, imported on use."""
