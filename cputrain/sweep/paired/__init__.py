"""Fresh workers beside one another, led by the verb itself: a conductor of each environment."""
