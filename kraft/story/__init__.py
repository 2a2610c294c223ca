"""Journals and traces of a run as timelines for people."""
