"""PD-ORS: admission on arrival against prices, with placement and reservations by slot; and its rivals."""
