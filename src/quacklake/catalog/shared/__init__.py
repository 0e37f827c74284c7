"""Many catalogs in one database: the tables they share, whose row is whose, and where ids come from."""
