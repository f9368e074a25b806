"""Benchmarks: how fast Recollect is, beside its raw parts and its peers."""
