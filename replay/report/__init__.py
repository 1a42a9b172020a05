"""The report: all changes of a range of a log in compact columns, for the page that shows them."""
