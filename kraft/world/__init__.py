"""The world that a node is given: its clock."""
