"""Questions as tools for assistants: the Model Context Protocol, over stdio and HTTP."""
