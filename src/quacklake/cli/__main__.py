"""`python -m quacklake.cli`, the same as the `quacklake` command."""

from quacklake.cli.app import main

main()
