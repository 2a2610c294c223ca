"""The pure coordinator of the groups of one partition of ``__consumer_offsets``: classic groups and their offsets."""
