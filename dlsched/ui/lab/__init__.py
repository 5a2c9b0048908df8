"""Pages for researchers: models of speed, load tests, figures of the papers."""
