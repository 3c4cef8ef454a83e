"""What the decision cores of all systems share. Pure code."""
