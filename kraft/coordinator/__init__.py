"""The pure coordinators: of the classic consumer groups and their offsets, and of transactions; one package each."""
