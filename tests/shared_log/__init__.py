"""Tests of shared logs: one contract for all stores, and what is special in each."""
