"""What the driver does with a plugin, one session a file."""
