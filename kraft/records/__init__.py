"""Record batches (magic 2): headers, records, compression, control records, and the rules for produced batches."""
