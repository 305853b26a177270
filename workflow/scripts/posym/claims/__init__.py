"""The paper's claims, each as one function over the measurement tables; verdicts by thresholds that were set beforehand."""
