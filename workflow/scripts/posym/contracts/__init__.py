"""The data contracts: one small module per stage, so that a new measurement leaves the others' jobs as they are."""
