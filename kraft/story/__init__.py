"""A run in words: journals and traces as timelines that a person reads."""
