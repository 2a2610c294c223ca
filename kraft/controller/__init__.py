"""The active controller's core: requests in, records and responses out (KIP-631). Pure.

Every request has one function ``(context, request) -> Decision``. It reads the image and decides; it changes nothing.
Only replaying the records changes the image, so what a decision does is exactly what every standby and broker will see.
"""
