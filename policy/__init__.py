"""The policy: numbers of the rules, in recorded versions."""
