"""The numbers that the rules use, in recorded versions."""
