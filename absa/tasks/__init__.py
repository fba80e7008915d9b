"""What a task asks for: rows, features, batches and scores."""
