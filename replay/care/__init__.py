"""Maintenance of logs that requires replay: verifying copies, cutting history, forks, exports."""
