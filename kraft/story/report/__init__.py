"""The report page: what happened in a cluster, as plots on one self-contained HTML page.

``model`` is the input, plain values without Spark or files. ``quorum`` makes the quorum's part of it from journals.
``page.render`` makes the page.
"""
