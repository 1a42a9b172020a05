"""Random schedules of a quorum that is read: elections, failures, restarts of either side.

`operations.py` draws what happens, `schedule.py` runs it against the reader and checks the mirror.
"""
