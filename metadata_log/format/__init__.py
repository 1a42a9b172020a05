"""What the files of a log hold: how they are encoded, read and checked one by one."""
