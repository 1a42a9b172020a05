"""Options that several commands share, and how options are declared."""
