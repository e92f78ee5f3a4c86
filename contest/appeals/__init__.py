"""Appeals: what may be appealed and until when, and sending one (R18)."""
