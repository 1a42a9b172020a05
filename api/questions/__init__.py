"""Questions about a log or a running service, with typed requests and answers.

A question changes nothing. It is computed the same way from a log directory and by a service.
"""
