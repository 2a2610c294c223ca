"""The Kafka protocol over sockets: planes of acceptors, processors and handlers (KIP-291), and a client connection.

Start at :mod:`kraft.rpc.plane` (what a plane is) and :mod:`kraft.rpc.server` (how it runs).
"""
