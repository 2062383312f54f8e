"""The toy pack as a run of answers: choices made by hand-checked rules, and models that obey."""

from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model

from equipoise.lab.answers.evidence import Chosen, Setting, gather
from equipoise.lab.answers.generators import describe
from equipoise.lab.answers.store import Judged
from equipoise.lab.compare import clean_corpus
from equipoise.lab.defences import defence
from equipoise.lab.judge import Verdict
from equipoise.lab.labels import OracleLabels
from equipoise.lab.pack import Document, Origin, Question
from equipoise.lab.vectors import VectorCache
from equipoise.types import Stance

from .toy_world import WordEmbedder, toy_attack, toy_pack


def toy_settings(folder, *, pack=None, defences=("none", "quota_prompt"), corpora=None, **more):
    """The settings of the toy pack, clean and attacked, under two defences."""
    pack = pack or toy_pack()
    corpora = [clean_corpus(pack), toy_attack()] if corpora is None else corpora
    made = [defence(name) if isinstance(name, str) else name for name in defences]
    options = {"labels": OracleLabels(), "label_file": None, **more}
    settings, _ = gather(
        pack,
        corpora,
        made,
        vectors=VectorCache(WordEmbedder()),
        results=folder / "choices" / "results.jsonl",
        **options,
    )
    return settings


def plain_settings(count, names=("none", "quota")):
    """Settings of `count` questions each, no two prompts of which are alike."""
    about = {"pack": "toy", "corpus": "clean", "attack": {}, "labels": "oracle"}
    evidence = ({"label": None, "truth": None, "planted": False},)

    def chosen(name, n):
        question = Question(f"q{n:02}", "zoos", f"Are zoos good? {n}")
        document = Document(f"d{n}", f"Zoo {n}: {name}.", Origin.BACKGROUND, "toy")
        return Chosen(question, "zoos", (document,), evidence)

    return [
        Setting({**about, "defence": f"{name}: one"}, tuple(chosen(name, n) for n in range(count)))
        for name in names
    ]


class Model:
    """A model that answers by a function of the prompt and remembers what it was sent.

    The function gives a text, a whole output, or an exception to raise.
    """

    def __init__(self, answer=lambda prompt: "Zoos are good.", *, max_tokens=160, price=None):
        self.prompts = []
        self._answer = answer
        config = GenerateConfig(max_tokens=max_tokens, max_connections=1)
        model = get_model("mockllm/model", config=config, custom_outputs=self._output)
        self.asked = describe(model, options={}, max_tokens=max_tokens, price=price)

    def _output(self, messages, tools, tool_choice, config):
        prompt = messages[-1].text
        self.prompts.append(prompt)
        found = self._answer(prompt)
        if isinstance(found, Exception):
            raise found
        output = found
        if isinstance(found, str):
            output = ModelOutput.from_content("mockllm/model", found)
        # Without it inspect's mock counts tokens with a table that it fetches from the network.
        output.usage = ModelUsage(input_tokens=1000, output_tokens=100, total_tokens=1100)
        return output


class WordJudge:
    """Reads "good" as pro and "bad" as con, "unclear" as no verdict, and "crash" raises."""

    name = "words"
    family = "words"

    def __init__(self):
        self.read = []

    async def judge(self, question, answer):
        self.read.append((question, answer))
        if "crash" in answer:
            raise RuntimeError("the judge crashed")
        if "unclear" in answer:
            return Verdict(Judged.UNPARSED, detail="no verdict")
        pro, con = "good" in answer, "bad" in answer
        stance = Stance.NEUTRAL if pro == con else Stance.PRO if pro else Stance.CON
        return Verdict(Judged.SCORED, stance, model="words")
