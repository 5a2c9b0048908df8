"""How numbers, settings, certainty, assumptions and cautions are written: phrases that two places share."""
