"""Record batches (magic 2): headers, records, compression, control records, and what a producer may send."""
