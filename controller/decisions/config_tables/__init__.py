"""Definitions of configs as data, a table of text for each group; `parsing` reads them."""
