"""Training of the one-head GPT-J (paper section 3): the recipe, and an engine each for a CPU core and for a GPU."""
