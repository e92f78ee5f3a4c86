"""Programs that are run by hand, in a checkout."""
