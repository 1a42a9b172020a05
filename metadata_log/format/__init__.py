"""The files of a log: how each of them is encoded, read and checked."""
