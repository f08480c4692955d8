"""Reading licence documents: their clauses, which licence it is, what it allows and asks. Pure text work."""
