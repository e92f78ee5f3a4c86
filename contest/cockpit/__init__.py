"""The organizers' cockpit: what will be late, what waits and hangs, and which taskers and pictures need a look."""
