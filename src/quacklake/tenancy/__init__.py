"""Many catalogs in one database, as things to make, list, rename and drop."""
