"""The agent of one client: enrols, trains, contributes, opens, predicts. Imports `fgpr`; never the aggregator."""
