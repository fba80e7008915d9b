"""What models are trained for: each task says how its rows become batches, and its outputs scores."""
