"""Trains models on the training jobs of Skein."""
