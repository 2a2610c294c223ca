"""The cluster's metadata: an immutable image, and the records that change it.

Controllers and brokers run the same ``replay`` over the same committed records, so they cannot disagree about the
meaning of a record. The controller decides which records to write; the quorum stores them.
"""
