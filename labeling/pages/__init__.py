"""The pages and calls of labeling."""
