"""The recorder: mirrors of several clusters, followed by one process."""
