"""The playground: `numaproof explain` in a browser, on loopback; the same engine, asked by texts."""
