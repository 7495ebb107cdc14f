"""What outlives the node: the kubelet's three state files and the list of admitted pods."""
