"""Deciding, pure: the configuration, what is reserved, the managers wired, and the fit."""
