"""The active controller's core: requests in, records and responses out (KIP-631). Pure.

Every request has one function of the context and the request. It reads the image and returns a ``Decision``, in steps
if it loops over topics or partitions. Only the replay of its records changes the image, so every standby and every
broker sees exactly what was decided. Sessions and transitions change at once: they are not in the log.
"""
