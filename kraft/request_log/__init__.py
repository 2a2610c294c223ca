"""The request log of a node: sampled requests and all quorum events, as JSON lines in files or records of a topic."""
