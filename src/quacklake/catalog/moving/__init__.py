"""Copy a lake with its whole history from one database to another, under other ids."""
