"""The active controller's core: requests in, records and responses out (KIP-631). Pure.

Every request has one function ``(context, request) -> Decision``. It reads the image and decides; it changes nothing.
Only the replay of the records changes the image, so every standby and every broker sees exactly what was decided.
"""
