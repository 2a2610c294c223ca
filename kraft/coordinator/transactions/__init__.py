"""Transactions: the pure coordinator of the transactional ids of one partition of ``__transaction_state`` (KIP-98)."""
