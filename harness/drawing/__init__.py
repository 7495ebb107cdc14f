"""The drawing of a machine and of what pods hold on it, pure: one layout, as SVG and as text."""
