"""The quorum's core: who leads the metadata log, and how much of it is committed (KIP-595). Pure."""
