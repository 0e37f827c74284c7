"""Changes of what a lake consists of: namespaces, tables, columns, views, settings."""
