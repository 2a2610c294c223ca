"""The metadata quorum of a node: the driver of the Raft core, its log on disk, and the requests between peers."""
