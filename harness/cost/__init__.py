"""Cost-based selection: which instances of the requested resources are nearest to one another. No I/O."""
