"""The subcommands of `numaproof`, one module each: `add_arguments(parser)` and `run(args) -> exit code`."""
