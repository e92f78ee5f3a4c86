"""Messages: written down with what they tell of, shown in the application, sent once by e-mail as each person wants."""
