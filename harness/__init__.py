"""numaproof: proves NUMA alignment without NUMA hardware."""
