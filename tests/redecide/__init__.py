"""Takes every decision of a log again, and compares its records: `make redecide`."""
