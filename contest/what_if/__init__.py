"""What other numbers would have made of the answers there are: the page where organizers try a policy."""
