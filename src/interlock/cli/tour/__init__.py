"""`interlock tour`: the guided tour."""
