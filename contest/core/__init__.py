"""Models and rules that all packages of the contest share: weeks, embargo, breaks, teams."""
