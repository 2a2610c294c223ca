"""Experiments on real clusters of processes: nodes of this project, and of an Apache Kafka that the user has.

An experiment starts the processes, measures, and returns a result of plain values. ``kraft.story.experiments`` turns a
result into a page and pictures.
"""
