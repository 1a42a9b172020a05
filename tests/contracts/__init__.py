"""What every implementation of an interface must do, run on each of them."""
