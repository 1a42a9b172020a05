"""The admin verbs: one module a noun, imported when it is named."""
