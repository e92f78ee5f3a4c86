"""The policy: the contest's settings (numbers of the rules), in versions recorded in the database."""
