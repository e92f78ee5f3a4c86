"""Appeals of teams against rulings: which ruling may be appealed until when, and sending an appeal (R18)."""
