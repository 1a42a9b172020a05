"""What advise says about clusters that lost their quorum."""
