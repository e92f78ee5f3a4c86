"""What strangers see first: the front page, the rules, and the written instructions."""
