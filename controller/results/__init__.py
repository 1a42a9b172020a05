"""The results of decisions: records as a batch, errors, charges and versions."""
