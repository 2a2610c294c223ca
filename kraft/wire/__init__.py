"""Primitive types, error codes and the codec: how one message becomes bytes and comes back."""
