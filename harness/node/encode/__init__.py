"""What the node holds, as the messages and texts that tell it: one file for each form."""
