"""The area ``core``: recall, writes, start-up and opening, beside raw parts and peers."""

from argparse import Namespace
from pathlib import Path

from bench import recall_speed, startup, write_speed
from bench.peers.client import compare_with_peers
from bench.report import Report

PARTS = ("recall", "peers", "cold", "writes", "start")


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    """Environments of peers live in the cache, files of this run in the folder."""
    rounds, parts = options.rounds, options.parts or PARTS
    for size in options.sizes if {"recall", "peers", "cold"} & set(parts) else ():
        scene = recall_speed.fill(folder, size)
        if "recall" in parts:
            recall_speed.compare_with_parts(scene, rounds, report)
        if "peers" in parts and options.peers and size == options.sizes[0]:
            compare_with_peers(scene, rounds, cache, folder, report)
        if "cold" in parts:
            recall_speed.cold(scene, min(rounds, 5), report)
    if "writes" in parts:
        write_speed.compare_with_transactions(folder, options.sizes[0], 60 * rounds, rounds, report)
    if "start" in parts:
        startup.compare_with_bare_python(3 * rounds, folder, report)
