"""After how long a job counts as one that hangs: never while its agent may still be waiting for what it is owed."""

from __future__ import annotations

from gauntlet_runtime import run_job
from gauntlet_runtime.jobs import AgentSpec, Artifact, Claim, EnvironmentSpec, EpisodeSpec, RunSpec
from gauntlet_runtime.lease import longest_seconds
from gauntlet_runtime.metering import ModelSpec

EMPTY = Artifact(digest=f"sha256:{'0' * 64}", size=0)


def claim(**given):
    spec = RunSpec(
        agent=AgentSpec(bundle=EMPTY, command=["x"]),
        environment=EnvironmentSpec(program=EMPTY, command=["x"]),
        episodes=[EpisodeSpec(episode=f"e{n}", scenario=f"s{n}", key=f"k{n}", seed=n, text="?") for n in range(5)],
        **given,
    )
    fields = {name: name for name in ("job", "evaluation", "submission", "token")}
    return Claim(**fields, attempt=1, lease_seconds=30.0, spec=spec)


def test_waiting_for_language_models_is_no_hanging():
    """An agent's sandbox is given this much each time an episode is run, and its clock stands still meanwhile."""
    without, models = claim(), claim(llm=ModelSpec(provider="p", models=[]))
    runs = 5 * run_job.RUNS_OF_AN_EPISODE
    assert longest_seconds(models) - longest_seconds(without) == runs * run_job.MODEL_SECONDS


def test_waiting_for_a_slow_environment_is_no_hanging():
    assert longest_seconds(claim()) > 5 * run_job.RUNS_OF_AN_EPISODE * run_job.ENVIRONMENT_SECONDS
