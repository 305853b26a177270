"""What one attention head can and cannot do on the two tasks: constructions, their discrepancy, impossibility (paper section 4)."""
