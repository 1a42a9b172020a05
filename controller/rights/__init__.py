"""Rights: what each command and question requires, checked item by item."""
