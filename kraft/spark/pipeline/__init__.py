"""The pipeline: metadata records, quorum journals and request logs → typed rows → answers, as tables.

Each batch first becomes rows of a raw table. The typed tables are functions of these stored rows, and the answers are
functions of the typed tables. So a batch that runs again, or a backfill over the same logs, changes nothing.
"""
