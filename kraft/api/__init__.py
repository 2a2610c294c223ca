"""The APIs of the listeners: one file per API, with its row, its handlers and its error response.

A file has the name of its key: ``ApiKey.CREATE_TOPICS`` is ``create_topics.py``. The other modules of this room are
shared by several APIs. To add an API:

1. its specs in ``kraft/messages/spec``, and ``python -m kraft.codegen``;
2. its file here: ``ROW``, ``error``, and a handler for each kind of listener that has the API (``at_broker``,
   ``at_zk_broker``, ``at_controller``); and its test;
3. if the active controller decides it, the function in ``kraft/controller``, and its line in ``core.HANDLERS``, or in
   ``core.HANDLERS_IN_STEPS`` if it loops over topics or partitions;
4. ``python -m kraft.api.index`` and ``python -m tests.support.apis_page``, which write the table and docs/apis.md.
"""
