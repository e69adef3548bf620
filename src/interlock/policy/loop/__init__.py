"""What next? Pure: the same snapshot, facts and policy give the same answer."""
