"""The pure coordinators: of the classic consumer groups and their offsets, one package each."""
