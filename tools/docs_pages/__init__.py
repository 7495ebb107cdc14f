"""The pages of the documentation's site that are made from the code, by the names that they have below docs/."""
