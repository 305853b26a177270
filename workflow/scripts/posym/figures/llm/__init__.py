"""Figures of the `llm` stage, drawn by its own rule: one of all models' games, one of each local model's heads."""
