"""What pages and calls share about requests and answers."""
