"""Config definitions as data, one text table per group; `parsing` reads them."""
