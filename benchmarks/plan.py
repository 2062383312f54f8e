"""A plan for labelling and embedding a large corpus: hours, machines, bytes, money.

    python benchmarks/plan.py [--passages 100000000] [--questions 200] [--near 1000] ...

Every number it starts from is an option with a default, and is printed: put in your own. It is a
calculation, not a measurement.
"""

import argparse


def plan(given: argparse.Namespace) -> list[tuple[str, str]]:
    """(what, how much) of each line of the plan."""
    near = min(given.passages, given.questions * given.near)
    cores = given.machines * given.cores
    embed_s = given.passages / (given.embeddings_a_second * cores * given.efficiency)
    near_s = near / (given.labels_a_second * cores * given.efficiency)
    all_s = given.passages / (given.labels_a_second * cores * given.efficiency)
    price = given.price_a_core_hour * cores / 3600
    vectors = given.passages * given.dimension * 4
    texts = given.passages * given.bytes_a_passage
    return [
        ("embed every passage", f"{embed_s / 3600:,.1f} h, {price * embed_s:,.0f} money"),
        (
            f"label the {given.near:,} nearest of {given.questions:,} questions ({near:,} labels)",
            f"{near_s / 3600:,.2f} h, {price * near_s:,.2f} money",
        ),
        (
            "label every passage, for one question",
            f"{all_s / 3600:,.1f} h, {price * all_s:,.0f} money",
        ),
        ("vectors, float32", f"{vectors / 1e9:,.0f} GB"),
        ("texts", f"{texts / 1e9:,.0f} GB"),
        ("labels, Parquet", f"{near * given.bytes_a_label / 1e6:,.0f} MB for the nearest"),
        ("memory of the workers", f"{cores * given.worker_mb / 1e3:,.0f} GB over all machines"),
        ("an exact search, 1 core", f"{given.passages * given.dimension / 2e9:,.0f} s a question"),
    ]


def main() -> None:
    """Print the assumptions and the plan."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default, told in (
        ("passages", 100_000_000, "passages of the corpus"),
        ("questions", 200, "questions of the audit"),
        ("near", 1_000, "passages labelled a question"),
        ("machines", 20, "machines"),
        ("cores", 16, "physical cores of a machine"),
        ("labels-a-second", 20.0, "labels a second a core, passages of 68 words"),
        ("embeddings-a-second", 105.0, "embeddings a second a core"),
        ("efficiency", 0.85, "share of that which many workers keep"),
        ("dimension", 384, "numbers of a vector"),
        ("bytes-a-passage", 450, "bytes of a passage"),
        ("bytes-a-label", 60, "bytes of a label in Parquet"),
        ("worker-mb", 300, "MB of a worker with its model"),
        ("price-a-core-hour", 0.04, "money a core and hour"),
    ):
        parser.add_argument(f"--{name}", type=type(default), default=default, help=told)
    given = parser.parse_args()
    print("Assumptions:")
    for name, value in vars(given).items():
        print(f"  {name.replace('_', ' ')}: {value:,}")
    print("Plan:")
    for what, much in plan(given):
        print(f"  {what}: {much}")


if __name__ == "__main__":
    main()
