"""The id of the clusters that the tests format."""

from __future__ import annotations

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
