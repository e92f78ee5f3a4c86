"""Signatures of releases: Ed25519, signed notes, checkpoints, keys and witnesses. Standard library only."""
