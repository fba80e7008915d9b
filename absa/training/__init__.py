"""Training: arguments, the run over seeds, the Trainer, losses, calibration, results."""
