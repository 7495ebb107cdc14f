"""HTTP as the playground and the node serve it: who may ask, how much, and how long that may take."""
