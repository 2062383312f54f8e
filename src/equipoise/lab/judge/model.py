"""A judge that is a language model, or a chain of them, asked through inspect-ai."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from equipoise.errors import InputError
from equipoise.generation.base import redacted
from equipoise.lab.answers.families import family_of
from equipoise.lab.answers.store import Judged
from equipoise.lab.judge.base import Verdict
from equipoise.lab.judge.opened import open_model, structured
from equipoise.lab.judge.prompt import DECLINED, JudgePrompt, load_prompt, read_reply, schema
from equipoise.types import Stance

if TYPE_CHECKING:
    from inspect_ai.model import Model, ModelOutput

MAX_TOKENS: Final = 400
TIMEOUT_S: Final = 120


class ModelJudge:
    """Asks a model which way an answer leans; the next of the chain where that one cannot say.

    The next one is asked when a call fails or a content filter stops it, not when a reply is no
    verdict: that is `unparsed`, and never neutral. Where nobody could be asked with success, it is
    `error` if any call failed (so that it is tried again), else `filtered`. A reply of "declined"
    is `refused`.

    Args:
        chain: inspect's names ("openai/gpt-5", ...), or its models, in the order they are asked.
        left_out: names in the chain that may not judge here.
        prompt: its words; None takes the newest of ours.

    Raises:
        InputError: there is no model, or inspect knows none by that name.
        GenerationError: a model cannot be set up (a key or a library is missing).
        MissingExtraError: inspect-ai is not installed.

    Cost: one call an answer, about 400 tokens and the answer in, 50 out.

    Source: SP 4.1 has such a judge (gpt-5-mini, with a fallback chain); prompt and schema are ours.
    """

    sources: ClassVar = tuple(
        f"lab/judge/{name}.py" for name in ("base", "model", "opened", "prompt")
    )
    """Of the package: what its verdicts depend on, beside the prompt, which is in its name."""

    def __init__(
        self,
        chain: Sequence["str | Model"],
        *,
        left_out: Sequence[str] = (),
        prompt: JudgePrompt | None = None,
    ) -> None:
        asked = [model for model in chain if str(model) not in left_out]
        if not asked:
            raise InputError("a judge must have at least one model that may be asked, got none")
        self._prompt = prompt or load_prompt()
        self._chain = tuple(str(model) for model in chain)
        self._left_out = tuple(name for name in self._chain if name in left_out)
        self._models = tuple(open_model(model) for model in asked)
        self._config = structured("lean", schema(), max_tokens=MAX_TOKENS, timeout_s=TIMEOUT_S)

    @property
    def name(self) -> str:
        """The whole chain and the version of the prompt.

        Subtle: also those left out. One chain has one name for the answers of every generator, so
        that they can stand in one table; who is left out stands in the settings of each.
        """
        return f"{','.join(self._chain)}:{self._prompt.version}"

    @property
    def family(self) -> str:
        """The families of the models that may be asked, in order, with commas between."""
        return ",".join(dict.fromkeys(family_of(str(model)) for model in self._models))

    @property
    def about(self) -> Mapping[str, Any]:
        """What the settings of its verdicts say beside its name and family (JSON)."""
        return {"left_out": list(self._left_out)}

    async def judge(self, question: str, answer: str) -> Verdict:
        """The verdict of the first model that gives one."""
        prompt = self._prompt.render(question, answer)
        failed: list[Verdict] = []
        for model in self._models:
            verdict = await self._ask(model, prompt)
            if verdict.outcome not in (Judged.ERROR, Judged.FILTERED):
                return verdict
            failed.append(verdict)
        errors = any(verdict.outcome is Judged.ERROR for verdict in failed)
        detail = "; ".join(f"{verdict.model}: {verdict.detail}" for verdict in failed)
        return Verdict(Judged.ERROR if errors else Judged.FILTERED, detail=detail)

    async def _ask(self, model: "Model", prompt: str) -> Verdict:
        from inspect_ai.util import LimitExceededError

        try:
            output = await model.generate(prompt, config=self._config)
        except LimitExceededError:
            raise  # the limit of the whole run: not this call's failure
        except Exception as error:  # each vendor's library has its own classes
            detail = redacted(f"{type(error).__name__}: {error}")
            return Verdict(Judged.ERROR, detail=detail, model=str(model))
        return _read(output, str(model))


def _read(output: "ModelOutput", model: str) -> Verdict:
    if output.error or not output.choices:
        why = redacted(output.error or "the reply is empty")
        return Verdict(Judged.ERROR, detail=why, model=model)
    if output.stop_reason == "content_filter":
        return Verdict(Judged.FILTERED, detail="stopped by a content filter", model=model)
    lean = read_reply(output.completion)
    if lean is None:
        why = redacted(f"no verdict ({output.stop_reason}): {output.completion}")
        return Verdict(Judged.UNPARSED, detail=why, model=model)
    if lean == DECLINED:
        why = "the judge reads it as declining the question"
        return Verdict(Judged.REFUSED, detail=why, model=model)
    return Verdict(Judged.SCORED, Stance(lean), model=model)
