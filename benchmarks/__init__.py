"""Benchmarks whose results are ratios between two measurements of the same run."""
