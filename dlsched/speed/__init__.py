"""Speed models: how an allocation turns into work per second."""
