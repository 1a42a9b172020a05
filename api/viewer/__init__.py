"""Shows logs over HTTP: questions, events, metrics and the page, and no command."""
