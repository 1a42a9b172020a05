"""A broker as the log needs one: the view it is sent, and the reference process."""
