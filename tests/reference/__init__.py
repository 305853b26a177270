"""Plain, slow forms of what the library computes quickly."""
