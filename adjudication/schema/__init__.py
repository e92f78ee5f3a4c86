"""The one schema of releases (R39): files, columns, how cells are written, and how much can be known of each."""
