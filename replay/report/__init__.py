"""A range of a log as columns, for the report: a page that holds all changes of its range."""
