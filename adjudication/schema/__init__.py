"""The schema of the weekly public releases (R39): files, columns, cell formats, and how far each can be verified."""
