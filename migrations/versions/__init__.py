"""The steps, in order. A step that was released is never changed."""
