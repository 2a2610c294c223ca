"""What a controller answers at its own listener, one file per API: to other controllers, to brokers, to tools.

Each has ``handle(plane, request, message) -> Reply`` and ``error(message, version, code, text)``, as the handlers of
brokers do; where a broker has the same API, its ``error`` serves for both.
"""
