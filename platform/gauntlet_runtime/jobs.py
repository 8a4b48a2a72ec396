"""What a worker is given and what it gives back, and the one interface through which it gets at jobs.

Everything here is plain data that can travel as JSON: a worker on the platform's own machine gets it from the database
services, any other over HTTPS. Nothing here holds a secret that a sandbox may not see, except the ground truth's
artifact reference in a :class:`ScoreSpec`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from gauntlet_runtime.metering import JudgeSpec, ModelSpec, ModelSupply, NoModels
from gauntlet_scoring.failures import FailureCode
from gauntlet_scoring.trajectory import Outcome

#: Which episodes share a sandbox of the agent: those of a run job, or none.
Isolation = Literal["submission", "scenario"]
# Of an agent's command. The kernel takes 128 KiB a word, and 2 MiB with the environment: a longer one would look as if
# the sandbox had failed.
MOST_WORDS: Final = 256
MOST_COMMAND_BYTES: Final = 64 << 10
RESULT_BYTES: Final = 64 << 20  # of a score job's result as JSON: a source takes no more


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Artifact(_Message):
    """A file of the platform's storage, named by what is in it."""

    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    size: int = Field(ge=0)
    form: Literal["zip", "file"] = "zip"  # a zip stands for a folder: it is unpacked and cached by digest


class SandboxLimits(_Message):
    """Limits of one sandbox that a competition may set, as in `gauntlet_runtime.sandbox.interface.Limits`."""

    seconds: float = 600.0
    memory: int = 1 << 30
    cpus: float = 1.0
    processes: int = 128
    scratch: int = 256 << 20
    output: int = 64 << 20
    log: int = 1 << 20


class EpisodeLimits(_Message):
    """Limits of one episode."""

    episode_seconds: float = 60.0
    turns: int = 60  # messages and tool calls together
    tool_calls: int = 50
    parallel_tool_calls: int = 4
    answer_bytes: int = 64 << 10
    record_bytes: int = 64 << 20  # the trajectory with its large results; beyond it the episode ends as output_limit


class ContainerSpec(_Message):
    """What a participant's own image says of the program in it; where it lies is :attr:`AgentSpec.bundle`."""

    id: str  # "sha256:…", as the participant's Docker shows it
    environment: dict[str, str]
    working_directory: str = "/"


class AgentSpec(_Message):
    """The participant's program."""

    bundle: Artifact  # a folder; with `container` the image that `container_images.check_image` wrote
    command: list[str]
    image: str = "gauntlet/agent"
    packages: Artifact | None = None  # what `requirements.txt` and `wheels/` were installed into, mounted read-only
    container: ContainerSpec | None = None  # a container image; `image` then is not used


class CodeToolSpec(_Message):
    """A tool that takes code; the code runs in a sandbox of its own, with the task's data and nothing else."""

    name: str
    limits: SandboxLimits


class EnvironmentSpec(_Message):
    """The organizer's MCP program."""

    program: Artifact
    command: list[str]
    data: Artifact | None = None
    image: str = "gauntlet/agent"
    limits: SandboxLimits = Field(default_factory=SandboxLimits)
    code_tool: CodeToolSpec | None = None


class EpisodeSpec(_Message):
    """One agent on one scenario, once."""

    episode: str  # unguessable
    scenario: str  # the opaque id that the agent sees
    key: str  # the organizer's id, for gauntlet_reset; never sent to the agent
    trial: int = 1
    seed: int
    text: str
    show: dict[str, Any] = Field(default_factory=dict)  # what the organizer lets the agent see beside the text


class RunSpec(_Message):
    """A slice of an evaluation's episodes."""

    kind: Literal["run"] = "run"
    agent: AgentSpec
    environment: EnvironmentSpec
    episodes: list[EpisodeSpec]  # in the order in which they are to be handed out
    episode_limits: EpisodeLimits = Field(default_factory=EpisodeLimits)
    agent_limits: SandboxLimits = Field(default_factory=SandboxLimits)
    max_parallel_episodes: int = 1
    isolation: Isolation = "submission"
    trials: int = 1  # of each scenario in the whole evaluation
    #: The first slice of an evaluation: one episode at a time until one has ended under a living agent, which is then
    #: told as AGENT_PROVEN; that it opened its first is told as AGENT_STARTED. An agent that opens none, or loses the
    #: first two to crashes, fails the evaluation.
    probe: bool = False
    llm: ModelSpec | None = None  # the language models that the agent may call; their key is in no spec


class ScoringProgramSpec(_Message):
    """One scoring program of a task."""

    key: str  # names its scores: "<key>.<name in scores.json>"
    program: Artifact
    command: str | None = None  # from its metadata where None


class ScoredEpisode(_Message):
    """An episode as the scorer is given it."""

    episode: str
    key: str
    trial: int
    outcome: Outcome
    failure: FailureCode | None = None
    seconds: float = 0.0
    trajectory: Artifact | None = None  # zip with trajectory.jsonl and blobs/


class ScoreSpec(_Message):
    """Scoring of one evaluation: of its episodes, or of results that were submitted."""

    kind: Literal["score"] = "score"
    programs: list[ScoringProgramSpec]
    reference: Artifact | None  # None only with results
    episodes: list[ScoredEpisode]
    results: Artifact | None = None  # what the programs find in /app/input/res in the place of episodes
    image: str = "gauntlet/scorer"
    limits: SandboxLimits = Field(default_factory=SandboxLimits)
    judge: JudgeSpec | None = None  # the language model that the programs may ask; its key is in no spec


Spec = Annotated[RunSpec | ScoreSpec, Field(discriminator="kind")]


class Claim(_Message):
    """A job that this worker holds until its lease runs out."""

    job: str
    evaluation: str
    submission: str
    attempt: int
    token: str = Field(repr=False)  # the fence: every write names it, and one that is no longer current is refused
    lease_seconds: float
    spec: Spec


class EpisodeResult(_Message):
    """How one episode of a run job ended."""

    episode: str
    outcome: Outcome
    failure: FailureCode | None = None
    message: str = ""
    seconds: float
    steps: int = 0
    tool_calls: int = 0
    model_calls: int = 0
    tokens: int = 0  # of its model calls, in and out
    cost: Decimal = Decimal(0)  # of them, in the currency of the prices
    trajectory: Path | None = None  # local zip with trajectory.jsonl and blobs/; the source stores it


class Failure(_Message):
    """Why a job failed as a whole. The sentence never quotes program output; the log does."""

    code: FailureCode
    message: str


class RunResult(_Message):
    """What a run job gives back. Episodes that were not reached are absent."""

    episodes: list[EpisodeResult]
    failure: Failure | None = None
    log: str = ""  # the end of the agent's stdout and stderr, for its owner
    environment_log: str = ""  # the end of what lost environments printed on stderr, for the organizer only
    agent_seconds: float = 0.0  # wall time of the agent's sandboxes
    provenance: dict[str, str] = Field(default_factory=dict)  # image digests and the like


class ProgramScores(_Message):
    """What one scoring program gave."""

    key: str
    scores: dict[str, float]
    scenarios: list[dict[str, Any]] = Field(default_factory=list)  # gauntlet_scoring.episode_files.ScenarioRow
    detailed_results: str | None = None  # HTML
    provenance: dict[str, str] = Field(default_factory=dict)  # from the program's own provenance.json, and digests
    seconds: float = 0.0
    log: str = ""


class ScoreResult(_Message):
    """What a score job gives back."""

    programs: list[ProgramScores]
    failure: Failure | None = None
    log: str = ""
    scorer_seconds: float = 0.0


class LeaseLost(Exception):
    """The job is no longer ours: cancelled, or its lease ran out and another worker has it. Stop at once."""


class SourceUnavailable(Exception):
    """The source cannot be reached now and may be soon (a database that restarts): what was to be told, tell again."""


class JobEvent(StrEnum):
    """What a worker reports while it works."""

    EPISODE_STARTED = "episode_started"
    EPISODE_ENDED = "episode_ended"
    AGENT_STARTED = "agent_started"
    AGENT_PROVEN = "agent_proven"


class JobSource(ABC):
    """How a worker gets at jobs, files and results. Every call after the claim is fenced by the claim's token."""

    @abstractmethod
    def claim(self, *, queues: Sequence[str], worker: str) -> Claim | None:
        """Take the next job that this worker may run, or None."""

    @abstractmethod
    def renew(self, claim: Claim) -> None:
        """Hold the job for another lease.

        Raises:
            LeaseLost
        """

    @abstractmethod
    def report(self, claim: Claim, event: JobEvent, detail: dict[str, Any]) -> None:
        """Tell how the work goes; what is reported twice counts once.

        Raises:
            LeaseLost
        """

    @abstractmethod
    def fetch(self, artifact: Artifact, into: Path) -> None:
        """Put the artifact's bytes into the file ``into``."""

    @abstractmethod
    def finish(self, claim: Claim, result: RunResult | ScoreResult) -> None:
        """Store what came out and end the job, in one transaction.

        Raises:
            LeaseLost
            SourceUnavailable: nothing was stored, or the answer was lost; asked again, the fence tells the two apart.
        """

    @abstractmethod
    def give_back(self, claim: Claim, failure: Failure) -> None:
        """The platform failed, not the program: the job is tried again while attempts last.

        Raises:
            LeaseLost
        """

    @abstractmethod
    def hand_back(self, claim: Claim) -> None:
        """The worker is to end: nothing failed, another takes the job at once, and no attempt is used.

        Raises:
            LeaseLost
        """

    def let_go(self) -> None:  # noqa: B027 - not every source has something to let go of
        """Nothing more will be asked from the thread that calls this."""

    def models(self, claim: Claim) -> ModelSupply:
        """Where a claimed job's models, or its judge, come from; every word of it is fenced by the claim's token."""
        return NoModels()
