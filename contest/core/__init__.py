"""What every room of the contest asks: weeks, embargo, breaks, teams, the state of a week's pictures."""
