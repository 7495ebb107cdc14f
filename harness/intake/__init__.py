"""What operators copy from a node, read and put together."""
