"""Text as a terminal may show it: made safe once, and formatted."""
