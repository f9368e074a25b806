"""What happens while nobody asks."""
