"""Tests that a tenant learns nothing about another tenant."""
