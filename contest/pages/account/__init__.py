"""What every account opens: its messages."""
