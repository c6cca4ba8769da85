"""The invariants of docs/threat-model.md as rules over what was read: no SQL, no files, no clock.

May import `aggregator.storage` for the types of rows and for their bytes only, and the library.
"""
