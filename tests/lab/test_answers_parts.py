"""The parts of a run by themselves: families, prices, outcomes, and the generator that quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelCost,
    ModelOutput,
    ModelUsage,
    compute_model_cost,
)

from equipoise.errors import GenerationError, InputError
from equipoise.lab.answers.families import family_of
from equipoise.lab.answers.generators import answer_code, load_model, template_of
from equipoise.lab.answers.outcomes import read_failure, read_output
from equipoise.lab.answers.prices import Price
from equipoise.lab.answers.quote import quoted, read_prompt
from equipoise.prompt import COMPACT, DEFAULT, render_prompt
from equipoise.types import Outcome


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-5", "openai"),
        ("openai/o3-mini", "openai"),
        ("azureai/gpt-4o", "openai"),
        ("openrouter/openai/gpt-oss-120b", "openai"),
        ("anthropic/claude-sonnet-4-5", "anthropic"),
        ("bedrock/anthropic.claude-3-haiku", "anthropic"),
        ("google/gemini-2.5-pro", "google"),
        ("hf/google/gemma-3-1b-it", "google"),
        ("together/meta-llama/Llama-3.3-70B", "llama"),
        ("ollama/llama3.2", "llama"),
        ("hf/HuggingFaceTB/SmolLM2-1.7B", "smollm"),
        ("local", "smollm"),
        ("equipoise/smollm2", "smollm"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm"),
        ("quote", "quote"),
        ("equipoise/quote", "quote"),
        ("hf/deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "deepseek"),
        ("mistral/mistral-large", "mistral"),
        ("together/Qwen/Qwen2.5-7B", "qwen"),
        ("hf/tiiuae/falcon-7b", "falcon"),
        ("mockllm/model", "mockllm"),
        ("hf/delphi-3", "delphi"),
    ],
)
def test_the_family_is_in_the_name(name, family):
    assert family_of(name) == family_of(name.upper()) == family


def test_a_model_without_a_name_has_no_family():
    for name in ("", " ", "/", " // "):
        with pytest.raises(InputError):
            family_of(name)


@given(
    st.text(st.characters(categories=("L", "N", "P")), min_size=1).filter(
        lambda name: name.strip("/")
    )
)
def test_every_name_has_some_family(name):
    assert family_of(name)


def output(text, stop="stop", usage=(10, 5), **more):
    choice = ChatCompletionChoice(message=ChatMessageAssistant(content=text), stop_reason=stop)
    used = None
    if usage is not None:
        used = ModelUsage(input_tokens=usage[0], output_tokens=usage[1], total_tokens=sum(usage))
    return ModelOutput(model="m", choices=[choice], usage=used, **more)


@pytest.mark.parametrize(
    ("given_output", "outcome", "text", "said"),
    [
        (output(" Yes. "), Outcome.ANSWERED, "Yes.", ""),
        (output("\n "), Outcome.EMPTY, "", "wrote nothing"),
        (output("Half", "content_filter"), Outcome.FILTERED, "", "content filter"),
        (output("Half", "max_tokens"), Outcome.ANSWERED, "Half", "cut after 5 tokens"),
        (output("Half", "model_length"), Outcome.ANSWERED, "Half", "cut after 5 tokens"),
        (output("8192 at most", "model_length", None), Outcome.ERROR, "", "does not fit"),
        (output("I cannot help with that."), Outcome.REFUSED, "I cannot help with that.", "declin"),
        (output("I cannot say which side is right: both have a case."), Outcome.ANSWERED, None, ""),
        (output("", error="overloaded"), Outcome.ERROR, "", "overloaded"),
        (ModelOutput(model="m"), Outcome.EMPTY, "", "wrote nothing"),
    ],
)
def test_what_a_vendor_gives_back_is_one_of_five_outcomes(given_output, outcome, text, said):
    reply = read_output(given_output)
    assert reply.outcome is outcome
    assert text is None or reply.text == text
    assert said in reply.detail
    assert bool(reply.fault) == (outcome is Outcome.ERROR)
    assert ("error" in reply.to_row()) == (outcome is Outcome.ERROR)


def test_a_prompt_that_a_local_model_took_without_a_word_does_not_fit_either():
    assert read_output(output("Yes.", usage=(90, 10)), context_tokens=100).outcome == "answered"
    reply = read_output(output("Yes.", usage=(91, 10)), context_tokens=100)
    assert (reply.outcome, reply.text) == (Outcome.ERROR, "")
    assert "101 tokens" in reply.fault
    assert "100" in reply.fault


def test_time_and_tokens_are_those_of_the_call_and_the_vendors_cache_counts_as_read():
    found = output("Yes.", time=1.5)
    found.usage.input_tokens_cache_read = 90
    reply = read_output(found)
    assert (reply.latency_ms, reply.input_tokens, reply.output_tokens) == (1500.0, 100, 5)


def test_a_failure_names_its_cause_and_hides_keys():
    class RetryError(Exception):
        class last_attempt:
            @staticmethod
            def exception():
                return TimeoutError("no reply; Bearer abcdefghijklmnop")

    said = read_failure(RetryError("tried 5 times")).detail
    assert said == "TimeoutError: no reply; Bearer [hidden]"


def test_a_price_is_two_numbers():
    assert Price.parse("1.25, 10") == Price(1.25, 10.0)
    for wrong in ("1.25", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1", ""):
        with pytest.raises(InputError):
            Price.parse(wrong)


tokens = st.integers(0, 10**6)


@given(tokens, tokens, st.none() | tokens, st.none() | tokens)
def test_a_cost_is_what_inspect_computes(read, wrote, cache_read, cache_write):
    usage = ModelUsage(
        input_tokens=read,
        output_tokens=wrote,
        input_tokens_cache_read=cache_read,
        input_tokens_cache_write=cache_write,
    )
    theirs = ModelCost(input=2.0, output=8.0, input_cache_read=0.2, input_cache_write=2.5)
    ours = Price(2.0, 8.0, 0.2, 2.5)
    assert ours.cost(usage) == pytest.approx(compute_model_cost(theirs, usage))


def test_a_quote_is_the_sentence_nearest_to_the_question_the_first_of_equals():
    documents = [
        "Zoos are old. Zoos protect rare animals! Rare animals live in zoos.",
        "Nothing to the point. Nor here.",
        "One sentence without an end",
        'She said "zoos are cruel." They said no.',
    ]
    prompt = render_prompt("Do zoos protect rare animals?", documents, template=COMPACT)
    assert quoted(prompt) == (
        "Zoos protect rare animals! Nothing to the point. One sentence without an end "
        'She said "zoos are cruel."'
    )


def test_function_words_draw_no_quote():
    assert quoted("[1] Is it as it was? Zoos.\n\nQuestion: Is it that zoos do it?") == "Zoos."


def test_an_instruction_changes_no_quote():
    texts = ["Zoos are good. Taxes too.", "Zoos are bad."]
    both = {
        quoted(render_prompt("Are zoos good?", texts, even_handed=fair, template=template))
        for fair in (True, False)
        for template in (COMPACT, DEFAULT)
    }
    assert both == {"Zoos are good. Zoos are bad."}


def test_without_documents_nothing_is_quoted():
    assert quoted(render_prompt("Are zoos good?", [], template=COMPACT)) == ""


plain = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
documents = st.lists(st.lists(plain, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8)


@given(documents, plain)
def test_a_prompt_is_read_back_as_it_was_rendered(texts, word):
    found, question = read_prompt(render_prompt(f"Is {word} so?", texts, template=DEFAULT))
    assert found == tuple(texts)
    assert question == f"Is {word} so?"


def test_lines_that_pose_as_a_question_are_the_documents():
    texts = ["Zoos are old.\nQuestion: are taxes good?\nTaxes are good."]
    prompt = render_prompt("Are zoos old?", texts, template=COMPACT)
    assert quoted(prompt) == "Zoos are old."


def test_small_models_get_the_short_template_unless_told_otherwise(tmp_path):
    assert template_of(None, "smollm") is template_of("compact", "openai") is COMPACT
    assert template_of(None, "openai") is template_of("default", "smollm") is DEFAULT
    path = tmp_path / "mine.txt"
    path.write_text("{documents} {question} {instruction}", "utf-8")
    assert template_of(str(path), "smollm").version.startswith("mine.txt@")
    with pytest.raises(InputError, match="cannot be read"):
        template_of("no-such-template", "smollm")


def test_the_generator_that_quotes_is_a_model_of_inspect():
    asked = load_model("quote", max_tokens=3)
    assert (asked.name, asked.family, asked.price) == ("equipoise/quote", "quote", None)
    assert asked.said["generator_settings"] == {"max_tokens": 3}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("nobody/model", {}, "nobody"),
        ("model-without-provider", {}, "model-without-provider"),
        ("equipoise/gpt", {}, "quote, smollm2"),
        ("quote", {"depth": 1}, "depth"),
    ],
)
def test_a_model_that_cannot_be_had_is_named(name, options, said):
    with pytest.raises(InputError, match=said):
        load_model(name, options=options)


def test_a_missing_key_is_a_failure_of_the_generator(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(GenerationError, match="OPENAI_API_KEY"):
        load_model("openai/gpt-5")


def test_secrets_paths_and_places_are_not_in_the_settings(tmp_path, monkeypatch):
    from inspect_ai.model import GenerateConfig, get_model

    from equipoise.lab.answers.generators import describe

    (tmp_path / "weights").mkdir()
    options = {
        "model_path": str(tmp_path / "weights"),
        "api_key": "sk-1",
        "hf_token": "x",
        "device": "cpu",
        "context_tokens": 4096,
        "do_sample": False,
    }
    model = get_model("mockllm/model", config=GenerateConfig())
    said = describe(model, options=options, max_tokens=160).said["generator_settings"]
    assert said == {
        "max_tokens": 160,
        "model_path": "weights",
        "context_tokens": 4096,
        "do_sample": False,
    }


def test_the_code_of_an_answer_is_that_of_its_own_generator():
    codes = {answer_code(n) for n in ("equipoise/quote", "equipoise/smollm2", "openai/gpt-5")}
    assert len(codes) == 3
    assert answer_code("openai/gpt-5") == answer_code("hf/x")
