"""The quorum's core: elects the leader of the metadata log and advances its high watermark (KIP-595). Pure."""
