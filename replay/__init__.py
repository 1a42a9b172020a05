"""What it means: records to images, snapshots, time travel and audit."""
