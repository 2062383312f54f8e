"""Numbers that the paper reports, to stand beside ours. Facts; each with its table.

Source: SP (shared/papers/000_291690fba78adc52.txt), tables 2 to 14.
"""

from typing import Final

Interval = tuple[float, float, float]
"""Value, low and high end of the 95% interval."""

SHARES: Final = (0.064, 0.119, 0.144, 0.189)
NEAR: Final = 0.03
"""Our share may differ by this much from the paper's for the two to stand in one row."""
GENERATOR: Final = "claude-opus-4-8"

# SP tables 2 and 3, by direction and setting, in the order of SHARES.
SCORES: Final[dict[str, dict[str, tuple[Interval, ...]]]] = {
    "pro": {
        "A": ((0.115, 0.014, 0.215), (0.230, 0.124, 0.335), (0.297, 0.187, 0.409),
              (0.373, 0.260, 0.483)),
        "B": ((0.043, -0.048, 0.129), (0.086, -0.014, 0.190), (0.053, -0.038, 0.144),
              (0.153, 0.057, 0.249)),
        "C": ((-0.005, -0.091, 0.077), (0.014, -0.068, 0.092), (-0.005, -0.091, 0.072),
              (0.024, -0.067, 0.113)),
    },
    "con": {
        "A": ((-0.129, -0.234, -0.019), (-0.197, -0.301, -0.086), (-0.234, -0.343, -0.119),
              (-0.325, -0.429, -0.215)),
        "B": ((0.010, -0.077, 0.097), (0.024, -0.067, 0.120), (0.048, -0.048, 0.144),
              (0.038, -0.062, 0.144)),
        "C": ((-0.019, -0.096, 0.058), (-0.024, -0.096, 0.052), (-0.034, -0.119, 0.049),
              (0.019, -0.049, 0.095)),
    },
}  # fmt: skip

# SP table 5; setting D at the two largest shares, points only.
PROMPT_ONLY: Final = {"pro": {0.144: 0.167, 0.189: 0.256}, "con": {0.144: -0.215, 0.189: -0.291}}

# SP tables 4 and 15.
SHIFTS: Final[dict[str, tuple[Interval, ...]]] = {
    "pro": ((0.115, 0.005, 0.226), (0.216, 0.110, 0.324), (0.303, 0.180, 0.433),
            (0.350, 0.232, 0.466)),
    "con": ((-0.111, -0.228, 0.005), (-0.173, -0.273, -0.072), (-0.203, -0.300, -0.106),
            (-0.351, -0.442, -0.263)),
}  # fmt: skip
REDUCTIONS: Final[dict[str, tuple[Interval, ...]]] = {
    "pro": ((0.106, -0.038, 0.181), (0.216, 0.081, 0.300), (0.293, 0.139, 0.383),
            (0.350, 0.211, 0.447)),
    "con": ((0.111, -0.015, 0.205), (0.173, 0.048, 0.262), (0.203, 0.082, 0.295),
            (0.313, 0.153, 0.411)),
}  # fmt: skip
RAW_P: Final = {
    "pro": (0.09058, 0.00120, 0.00020, 0.00020),
    "con": (0.08818, 0.00300, 0.00060, 0.00020),
}
HOLM_P: Final = {
    "pro": (0.17636, 0.00480, 0.00160, 0.00160),
    "con": (0.17636, 0.00900, 0.00300, 0.00160),
}

# SP table 6, at 18.9%.
GENERATORS: Final[dict[str, dict[tuple[str, str], Interval]]] = {
    "DeepSeek-V4-Pro": {
        ("pro", "A"): (0.370, 0.238, 0.505), ("pro", "C"): (0.063, 0.000, 0.126),
        ("con", "A"): (-0.424, -0.514, -0.328), ("con", "C"): (-0.034, -0.088, 0.024),
    },
    "Gemma-4-31B": {
        ("pro", "A"): (0.318, 0.204, 0.426), ("pro", "C"): (0.045, 0.010, 0.082),
        ("con", "A"): (-0.095, -0.188, 0.000), ("con", "C"): (0.019, -0.014, 0.053),
    },
    "Kimi-K2.6": {
        ("pro", "A"): (0.435, 0.321, 0.543), ("pro", "C"): (0.053, 0.005, 0.110),
        ("con", "A"): (-0.353, -0.454, -0.252), ("con", "C"): (-0.005, -0.043, 0.033),
    },
    "Llama-4-Maverick-17B": {
        ("pro", "A"): (0.495, 0.357, 0.614), ("pro", "C"): (0.058, 0.010, 0.106),
        ("con", "A"): (-0.314, -0.435, -0.191), ("con", "C"): (0.043, -0.014, 0.100),
    },
}  # fmt: skip

# SP table 7: blocked, refused, included, of 210.
OUTCOMES: Final[dict[str, dict[tuple[str, str], tuple[int, int, int]]]] = {
    "DeepSeek-V4-Pro": {
        ("pro", "A"): (1, 1, 208), ("pro", "C"): (1, 2, 207),
        ("con", "A"): (1, 4, 205), ("con", "C"): (0, 3, 207),
    },
    "Gemma-4-31B": {
        ("pro", "A"): (11, 7, 192), ("pro", "C"): (3, 7, 200),
        ("con", "A"): (1, 8, 201), ("con", "C"): (1, 3, 206),
    },
    "Kimi-K2.6": {
        ("pro", "A"): (1, 0, 209), ("pro", "C"): (1, 1, 208),
        ("con", "A"): (2, 1, 207), ("con", "C"): (0, 1, 209),
    },
    "Llama-4-Maverick-17B": {
        ("pro", "A"): (0, 0, 210), ("pro", "C"): (0, 2, 208),
        ("con", "A"): (0, 3, 207), ("con", "C"): (0, 2, 208),
    },
}  # fmt: skip

# SP table 8 (scores are settings without the instruction) and 9, at 18.9%.
SELECTION: Final[dict[str, dict[str, Interval]]] = {
    "pro": {"quota": (0.153, 0.057, 0.249), "random5": (0.330, 0.219, 0.438),
            "mmr": (0.197, 0.110, 0.285)},
    "con": {"quota": (0.038, -0.062, 0.144), "random5": (-0.234, -0.332, -0.143),
            "mmr": (-0.148, -0.263, -0.038)},
}  # fmt: skip
AGAINST_QUOTA: Final[dict[str, dict[str, Interval]]] = {
    "pro": {"random5": (0.178, 0.024, 0.321), "mmr": (0.043, -0.062, 0.149)},
    "con": {"random5": (-0.273, -0.389, -0.168), "mmr": (-0.187, -0.311, -0.071)},
}
PLANTED: Final = {
    "pro": {"none": 1.743, "quota": 1.181, "random5": 1.267, "mmr": 1.048},
    "con": {"none": 1.424, "quota": 0.986, "random5": 1.152, "mmr": 0.900},
}

# SP table 12 and figure 4: aligned bias with a wrong label among the five, without, difference.
ROBUSTNESS: Final[dict[tuple[str, str], tuple[Interval, Interval, Interval]]] = {
    ("pro", "A"): ((0.381, 0.140, 0.588), (0.370, 0.258, 0.479), (0.011, -0.226, 0.220)),
    ("pro", "B"): ((0.190, 0.025, 0.339), (0.137, 0.022, 0.252), (0.053, -0.139, 0.236)),
    ("pro", "C"): ((0.032, -0.211, 0.222), (0.021, -0.069, 0.119), (0.011, -0.256, 0.226)),
    ("con", "A"): ((0.388, 0.130, 0.615), (0.306, 0.199, 0.417), (0.082, -0.183, 0.336)),
    ("con", "B"): ((0.143, -0.051, 0.327), (-0.094, -0.207, 0.014), (0.237, 0.015, 0.459)),
    ("con", "C"): ((0.082, -0.083, 0.241), (-0.050, -0.129, 0.025), (0.132, -0.044, 0.307)),
}
WRONG: Final = {"pro": (64, 210), "con": (49, 210)}

# SP table 13: clean A, clean C, and the paired difference (A - C for the stance, else C - A).
CLEAN: Final[dict[str, tuple[float, float, Interval]]] = {
    "stance": (0.043, 0.033, (0.010, -0.077, 0.092)),
    "relevance": (4.719, 4.876, (0.157, 0.081, 0.233)),
    "support": (4.805, 4.786, (-0.019, -0.133, 0.090)),
    "accuracy": (4.790, 4.757, (-0.033, -0.138, 0.067)),
    "coverage": (3.995, 4.505, (0.510, 0.343, 0.690)),
}

# SP table 14: documents, words (median, sd, least, most), nearest cosine, near-duplicates.
PROPERTIES: Final = {
    "genuine": (1478, 66, 57.1, 0, 361, 0.772, "6 (0.406%, 3 pairs)"),
    "injected": (588, 66, 6.4, 45, 82, 0.798, "0 (0 pairs)"),
}

# SP table 10: ms on CPU and GPU by documents classified; 4.6: the median generation.
LATENCY: Final = {
    1: (63.2, 10.6), 5: (237.1, 22.8), 10: (348.2, 48.9), 20: (954.2, 88.8), 32: (2522.5, 222.2),
    50: (3848.3, 337.8),
}  # fmt: skip
GENERATION_MS: Final = 5894.3
# SP table 11: configuration, ms on CPU, ms on GPU.
ROUTING: Final = (
    ("single model, 20 documents", 945.3, 89.7),
    ("six-fold routing, 20 documents", 929.4, 98.3),
    ("single model, 50 documents", 3900.1, 337.4),
    ("six-fold routing, 50 documents", 3932.9, 338.3),
)

# SP appendix E: agreement of the stance judge with reference labels; F.1: quota not filled.
JUDGE: Final = (45, 50, 0.850)
UNFILLED: Final = {"pro": (4, 210), "con": (6, 210)}


def nearest_share(share: float) -> int | None:
    """The place in SHARES of the paper's share nearest to ours; None where none is near.

    >>> nearest_share(0.195), nearest_share(0.4)
    (3, None)
    """
    best = min(range(len(SHARES)), key=lambda place: abs(SHARES[place] - share))
    return best if abs(SHARES[best] - share) <= NEAR else None


def at(found: tuple[Interval, ...], share: float) -> str | None:
    """The paper's interval at the share nearest to ours, with that share."""
    place = nearest_share(share)
    return None if place is None else f"{interval(found[place])} at {SHARES[place]:.1%}"


def interval(found: Interval) -> str:
    """`+0.373 [+0.260, +0.483]`."""
    return f"{found[0]:+.3f} [{found[1]:+.3f}, {found[2]:+.3f}]"
