"""Fine-tuning of trained models for tasks on texts: GLUE."""
