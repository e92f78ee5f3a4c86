"""Weekly releases: what is written, in which order, and the chain that they form (R39)."""
