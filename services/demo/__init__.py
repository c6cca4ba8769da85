"""A whole federation on one machine; the only code that imports both services."""
