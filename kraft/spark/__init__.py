"""The data pipeline on Spark, through PySpark: data sources, tables and simulation campaigns.

Needs the extra ``kraft[spark]`` and Java 17. No other room needs Spark.
"""
