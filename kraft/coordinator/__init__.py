"""Pure core of the group coordinator: classic consumer groups and the offsets that they commit."""
