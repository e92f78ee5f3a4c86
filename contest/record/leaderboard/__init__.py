"""The leaderboard: two tables of what is public, for now and for every week that is over."""
