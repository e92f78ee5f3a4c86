"""The pages of monitoring."""
