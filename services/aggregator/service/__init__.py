"""What the aggregator does, one transaction an act: load, pure transition, save, audit entry. No HTTP, no SQL here."""
