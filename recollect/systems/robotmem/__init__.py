"""robotmem: hybrid recall for robots (recipe.py), and Robot with sessions and perceptions (robot.py)."""
