"""Lists that grow under transactions while nodes die, stop and lose each other, and a checker of what was seen.

``python -m tests.transactions_workload --seconds 300`` runs it for a while; ``tests/process`` has a short run.
"""
