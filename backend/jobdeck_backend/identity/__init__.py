"""Who a caller is: what a token says once it was verified (R32)."""
