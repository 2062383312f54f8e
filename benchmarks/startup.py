"""Start-up time and memory, each in fresh processes, beside a bare interpreter in the same run."""

import os
import statistics
import subprocess
import sys
import time

ROUNDS = 9
BALANCE = """
import resource
from equipoise import Balancer
from equipoise.data import contested
topic = contested()[0]
documents = [d.text for d in topic.documents]
selection = Balancer(gate="always").balance(topic.question, documents)
text = " ".join(documents)
Balancer(gate="always").balance(topic.question, [text] * 1 + documents)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
for line in open("/proc/self/status"):
    if line.startswith("VmRSS"):
        print(line.split()[1])
"""


def seconds(command: list[str]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    bare = seconds([sys.executable, "-c", "pass"])
    rows = {
        "import equipoise": seconds([sys.executable, "-c", "import equipoise"]),
        "import equipoise, Balancer()": seconds(
            [sys.executable, "-c", "import equipoise; equipoise.Balancer()"]
        ),
        "equipoise --help": seconds(
            [os.path.join(os.path.dirname(sys.executable), "equipoise"), "--help"]
        ),
        "import numpy (peer)": seconds([sys.executable, "-c", "import numpy"]),
    }
    print(f"{'python -c pass':32} {bare * 1e3:7.0f} ms")
    for name, value in rows.items():
        print(f"{name:32} {value * 1e3:7.0f} ms   beyond it {(value - bare) * 1e3:6.0f} ms")
    out = subprocess.run(
        [sys.executable, "-c", BALANCE], check=True, capture_output=True, text=True
    )
    peak, now = (int(line) / 1024 for line in out.stdout.split())
    print(f"a process that balances: resident {now:.0f} MB, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
