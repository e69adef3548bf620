"""`interlock calibrate`: thresholds that keep a promise."""
