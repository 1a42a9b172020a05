"""Tests of `advise`, for clusters that lost their quorum."""
