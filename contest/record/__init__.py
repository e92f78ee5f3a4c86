"""What everybody may read of a picture, a defense or a team; the leaderboard; the way back from releases (R24, R39)."""
