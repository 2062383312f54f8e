"""Two baselines that any stance model must beat: the commonest class, and the text alone."""

from collections.abc import Sequence
from typing import Any

from equipoise._extras import require
from equipoise.train.data import LABELS, Row
from equipoise.train.score import Judged

MOST_TERMS = 200_000
"""Words and word pairs that the text-only baseline counts, the most frequent ones."""


def majority(train: Sequence[Row], rows: Sequence[Row]) -> list[Judged]:
    """`rows`, each with the class shares of `train`: the label is its most frequent class.

    On a tie the first of `LABELS` is the label.
    """
    counts = [sum(row.stance == label for row in train) for label in LABELS]
    con, neutral, pro = (count / len(train) for count in counts)
    return [Judged(row, (con, neutral, pro)) for row in rows]


def text_only(train: Sequence[Row], rows: Sequence[Row], *, seed: int) -> list[Judged]:
    """`rows` as a model judges them that sees the text and never the question.

    TF-IDF of words and word pairs (sublinear counts), and multinomial logistic regression. What it
    scores above `majority` is what the texts give away by themselves.

    Args:
        train: rows to learn from, of at least one class.
        rows: rows to judge.
        seed: of the solver.

    Raises:
        MissingExtraError: scikit-learn is not installed.

    Source: ours, after the warning in the data's description that texts alone tell neutral ones.
    """
    if len({row.stance for row in train}) == 1:
        return majority(train, rows)
    model = _pipeline(seed)
    model.fit([row.text for row in train], [row.stance for row in train])
    if not rows:
        return []
    classes = list(model.classes_)
    order = [classes.index(label) if label in classes else None for label in LABELS]
    judged = []
    for row, shares in zip(rows, model.predict_proba([row.text for row in rows]), strict=True):
        con, neutral, pro = (0.0 if at is None else float(shares[at]) for at in order)
        judged.append(Judged(row, (con, neutral, pro)))
    return judged


def _pipeline(seed: int) -> Any:
    text = require("sklearn.feature_extraction.text", extra="train")
    linear = require("sklearn.linear_model", extra="train")
    pipeline = require("sklearn.pipeline", extra="train")
    return pipeline.make_pipeline(
        text.TfidfVectorizer(
            ngram_range=(1, 2),
            sublinear_tf=True,
            max_features=MOST_TERMS,
            token_pattern=r"\w+",  # the default drops words of one letter
        ),
        linear.LogisticRegression(max_iter=1_000, random_state=seed),
    )
