"""Tests of incidents: outages, timelines and reasons."""
