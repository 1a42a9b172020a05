"""How much code there is, and how much of it one request or command runs."""
