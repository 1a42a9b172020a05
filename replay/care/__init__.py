"""Care of a log that needs its meaning: proof by replay, and the base that history is cut at."""
