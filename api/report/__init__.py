"""The HTML page of a report: JavaScript modules without a build step, embedded in one file."""
