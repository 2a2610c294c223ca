"""The metadata quorum in a node: the driver of the raft core, its log on disk, and the ways to and from its peers."""
