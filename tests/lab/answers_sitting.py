"""Sittings of one run, each a process that is killed at a random moment; the last one is not.

    python answers_sitting.py FOLDER SEED KILLS

Loads inspect once and forks the sittings, for loading it takes longer than a sitting. Prints, as
JSON, how many answers were on file after each kill, and how the last sitting ended. It has no part
in what is tested: it starts real runs and sends real SIGKILLs.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model

from equipoise.lab.answers.evidence import Chosen, Setting
from equipoise.lab.answers.generators import describe
from equipoise.lab.answers.run import answer_all
from equipoise.lab.answers.store import ANSWERS, Judged
from equipoise.lab.judge import Verdict
from equipoise.lab.pack import Document, Origin, Question
from equipoise.prompt import COMPACT
from equipoise.types import Stance

QUESTIONS = 60
"""In two settings of 30; each has a prompt of its own, so that none comes from the cache."""


class Judge:
    """Takes a moment, so that a kill may fall between an answer and its verdict."""

    name = family = "slow"

    async def judge(self, question, answer):
        time.sleep(0.005)
        return Verdict(Judged.SCORED, Stance.PRO, model="slow")


def slow(messages, tools, tool_choice, config):
    time.sleep(0.01)
    output = ModelOutput.from_content("mockllm/model", f"An answer to {len(messages[-1].text)}.")
    # Without it inspect's mock counts tokens with a table that it fetches from the network.
    output.usage = ModelUsage(input_tokens=9, output_tokens=9, total_tokens=18)
    return output


def settings():
    about = {"pack": "toy", "corpus": "clean", "attack": {}, "labels": "oracle"}
    evidence = ({"label": None, "truth": None, "planted": False},)
    return [
        Setting(
            {**about, "defence": f"{name}: one"},
            tuple(
                Chosen(
                    Question(f"q{n:02}", "zoos", f"Are zoos good? {n}"),
                    "zoos",
                    (Document(f"d{n}", f"Zoo {n}: {name}.", Origin.BACKGROUND, "toy"),),
                    evidence,
                )
                for n in range(QUESTIONS // 2)
            ),
        )
        for name in ("none", "quota")
    ]


def sitting(folder):
    os.environ["INSPECT_CACHE_DIR"] = str(folder / "inspect-cache")
    model = get_model("mockllm/model", config=GenerateConfig(max_tokens=9), custom_outputs=slow)
    asked = describe(model, options={}, max_tokens=9)
    answer_all(settings(), asked, COMPACT, folder, judge=Judge())


def forked(folder):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sitting(folder)
            code = 0
        finally:
            os._exit(code)
    return child


def answers(folder):
    path = folder / ANSWERS
    return path.read_bytes().count(b'{"key"') if path.exists() else 0


def main():
    folder, rng, kills = Path(sys.argv[1]), random.Random(int(sys.argv[2])), int(sys.argv[3])
    moments = []
    for _ in range(kills):
        before = answers(folder)
        child = forked(folder)
        # At a random moment after a random number of further answers, one at least.
        until = before + rng.randint(1, 4)
        while answers(folder) < until and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"a sitting ended by itself, with {status}"
        moments.append(answers(folder))
    _, status = os.waitpid(forked(folder), 0)
    print(json.dumps({"moments": moments, "last": os.waitstatus_to_exitcode(status)}))


if __name__ == "__main__":
    main()
