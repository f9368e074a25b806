"""How memories come in: kept with their vectors, compared with what is known already, gathered into episodes."""
