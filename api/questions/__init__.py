"""Questions: read-only requests about a log or a running service, with typed answers.

A question changes nothing. Its answer is computed the same way from a log directory and by a
service.
"""
