"""The release verifier's checks, one table or one rule each. Standard library only."""
