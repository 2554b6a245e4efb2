"""Trains models on the jobs of a Skein."""
