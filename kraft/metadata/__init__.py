"""The cluster's metadata: an immutable image, the records that change it, and nothing that decides.

A controller and a broker run the same ``replay`` over the same committed records, so they cannot disagree about what
a record means. Deciding which record to write is the controller's business; storing it is the quorum's.
"""
