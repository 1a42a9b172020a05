"""The page of a report: static modules without a build step, embedded in one file."""
