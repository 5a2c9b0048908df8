"""Pages about the server itself: who did what."""
