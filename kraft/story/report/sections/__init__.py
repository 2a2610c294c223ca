"""The sections of the report page, one module each. Each makes its sentences, its plot and its table."""
