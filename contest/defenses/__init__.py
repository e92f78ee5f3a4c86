"""What is known of the defenses: everybody reads what is published, organizers everything."""
