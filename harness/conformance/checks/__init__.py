"""The checks of device plugins."""
