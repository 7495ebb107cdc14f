"""What an operator can copy from a node with a kubelet, or paste into an issue, as plain values."""
