"""The statements of a commit. One module per kind of row."""
