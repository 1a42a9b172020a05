"""Files of a log's directory: the file system, locks, names, publishing."""
