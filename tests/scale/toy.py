"""A detector that reads the side off the first word, and notes each text in a file; picklable."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from equipoise.errors import DetectorError
from equipoise.types import StanceScore

SCORES = {
    "pro": StanceScore(0.8, 0.1, 0.1),
    "con": StanceScore(0.1, 0.8, 0.1),
    "neutral": StanceScore(0.1, 0.1, 0.8),
}


class FirstWord:
    """Scores by the first word; another word is an error. `log` gets a line a text: pid and text.

    The first process that gets the text `dies_at` dies, with `always` each one.
    """

    name = "first-word"

    def __init__(
        self,
        log: Path | None = None,
        *,
        wait_s: float = 0.0,
        dies_at: str = "",
        always: bool = False,
    ) -> None:
        self.log = log
        self.wait_s = wait_s
        self.dies_at = dies_at
        self.always = always

    def detect(self, question: str, texts: Sequence[str]) -> list[StanceScore]:
        time.sleep(self.wait_s)
        if self.log is not None:
            with self.log.open("a") as file:
                file.write("".join(f"{os.getpid()} {text}\n" for text in texts))
        if self.dies_at in texts and self.log is not None:
            once = self.log.with_suffix(".died")
            if self.always or not once.exists():
                once.touch()
                os.kill(os.getpid(), 9)
        for text in texts:
            if text.split()[0] not in SCORES:
                raise DetectorError(f"no side in {text!r}")
        return [SCORES[text.split()[0]] for text in texts]
