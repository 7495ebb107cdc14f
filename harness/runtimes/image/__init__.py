"""The image of the docker runtime."""
