"""Pages for people: templates, the style and the small script that all of them share."""
