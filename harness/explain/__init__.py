"""Why a pod is decided about as it is, and what would help: pure, made of decisions that are tried and taken back."""
