"""Requests, responses, headers, metadata records and stored keys and values: one generated module per message.

``spec/*.json`` is the source; ``python -m kraft.codegen`` writes the modules and ``_index.py``. Importing this package
imports no message: ask the registry, or import the module of the message that is needed.
"""
