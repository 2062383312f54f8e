"""What the bundled detectors understand, on examples that no training run reads.

Floors, not scores: the card has those. A change to reading, calibration or weights that costs more
than a few examples turns these red.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest

import equipoise
from equipoise.stance import load_detector
from equipoise.stance.folder import bundled_names

OWN = Path(equipoise.__file__).parent / "train/own/test.jsonl"
FLOORS = {"default": (0.72, 0.6), "small": (0.52, 0.45)}
"""Detector -> accuracy over all queries, share of opposite queries whose labels swap."""


def labelled(name):
    detector = load_detector(name)
    for line in OWN.read_text("utf-8").splitlines():
        record = json.loads(line)
        labels = [
            detector.detect(query, [record["text"]])[0].label.value
            for query, _ in record["queries"]
        ]
        yield record, labels, [stance for _, stance in record["queries"]]


def test_every_bundled_detector_has_a_floor():
    assert set(FLOORS) == set(bundled_names())


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOORS)
def test_a_bundled_detector_reads_what_is_said_and_not_its_tone(name):
    hits, swaps = defaultdict(list), []
    for record, labels, stances in labelled(name):
        hits[record["kind"]] += [a == b for a, b in zip(labels, stances, strict=True)]
        if record.get("opposite"):
            swaps.append(set(labels) == {"pro", "con"})
    accuracy, swapped = FLOORS[name]
    every = [hit for kind in hits.values() for hit in kind]
    shares = {kind: sum(found) / len(found) for kind, found in hits.items()}
    assert sum(every) / len(every) >= accuracy, shares
    assert sum(swaps) / len(swaps) >= swapped
    assert len(every) >= 150
