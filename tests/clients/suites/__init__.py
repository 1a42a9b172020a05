"""The test suites of clients, unchanged as their packages contain them, run against our cluster.

A list beside each names the tests that are left out, one a line, with the reason. Any other test
that does not pass is a failure, and so is a test of the list that passes or does not exist.
"""
