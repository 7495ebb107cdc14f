"""The checks of device plugins: a file an area, a function a check, with all that is said about it beside it."""
