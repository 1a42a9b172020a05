"""Authorization: callers, ACLs, and the authorizer that answers whether an operation is allowed."""
