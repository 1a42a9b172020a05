"""ACLs, users and delegation tokens."""
