"""Config definitions as data, one text table per group; `table_parser` reads them."""
