"""The pages of the contest, grouped by who opens them."""
