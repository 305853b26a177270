"""Measurements on checkpoints, one file each; they return columns, the scripts write them."""
