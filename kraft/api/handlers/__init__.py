"""One API, one file, one card. A module here has

- ``handle(broker, request, message)``: the reply, as :mod:`kraft.rpc.channel` describes it;
- ``error(message, version, code, text)``: the response that says the whole request failed with ``code``.
"""
