"""The results of experiments as words, plots and pages. The results are plain values, which JSON files keep."""
