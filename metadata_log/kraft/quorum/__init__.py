"""Recovery after a lost quorum: chooses the surviving directory from which to restart (the seed).

The choice is based on what the directories prove about committed records.
"""
