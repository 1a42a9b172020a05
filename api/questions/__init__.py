"""Questions: what can be asked of a log or of a running service, with typed requests and answers.

A question changes nothing. It is computed the same way from a log directory and by a service.
"""
