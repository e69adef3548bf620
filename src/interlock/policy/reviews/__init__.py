"""Was the work good enough? Pure: verdict, evidence and the review's standing in, decision out."""
