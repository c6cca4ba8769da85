"""The REST interface under /v1: parses, calls the service, answers. Decides nothing."""
