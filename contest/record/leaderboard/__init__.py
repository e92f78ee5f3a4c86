"""The leaderboard: two public tables, for now and for every past week."""
