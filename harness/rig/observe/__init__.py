"""What real tools and started containers see."""
