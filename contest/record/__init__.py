"""The public record of pictures, defenses and teams; the leaderboard; rebuilding from releases (R24, R39)."""
