"""The report: all changes of a range of a log in compact columns, for its page."""
