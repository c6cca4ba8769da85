"""The aggregator: signed REST over rounds stored in SQL. Imports `fgpr`; never the agent."""
