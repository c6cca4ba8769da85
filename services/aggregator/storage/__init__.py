"""The database: engine, tables, and one file of functions per aggregate. The only place that knows SQL."""
