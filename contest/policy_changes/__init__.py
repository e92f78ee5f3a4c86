"""Changes of the policy, the contest's numbers: recording versions, their history, each number in words."""
