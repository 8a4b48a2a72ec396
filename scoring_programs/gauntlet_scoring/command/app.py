"""The `gauntlet-score` command: what can be typed. The work is in the modules beside this one."""

from __future__ import annotations

import json
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from gauntlet_scoring.command.failure import CommandFailed, Exit
from gauntlet_scoring.ground_truth import GroundTruth
from gauntlet_scoring.validation.findings import Level, Strength

EPILOG: Final = (
    "Exit statuses: 0 nothing is wrong; 1 errors, leaks or different scores were found; "
    "2 the command could not do its work."
)


class _Commands(TyperGroup):
    """Ends whatever goes wrong as one sentence on stderr and an exit status, never as a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandFailed as failed:
            typer.echo(f"gauntlet-score: {failed}", err=True)
            raise typer.Exit(int(Exit.FAILED)) from failed


app = typer.Typer(
    name="gauntlet-score",
    cls=_Commands,
    help="Check, convert and draw ground truth, and score a stored evaluation again.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class Target(StrEnum):
    """The reading that a scenario is converted to."""

    MULTI_MCP = "multi-mcp"
    MULTI_AGENT = "multi-agent"


Words = Annotated[
    str | None,
    typer.Option("--vocabulary", help="assetops, mcp, open or a file; the one beside, else assetops."),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where to write; standard output by default.")]


@app.command()
def validate(
    path: Annotated[Path, typer.Argument(help="A file of ground truth or scenarios, or a folder of them.")],
    *,
    lenient: Annotated[bool, typer.Option("--lenient", help="Read the spellings of real files, and say so.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="How to write the findings.")] = Format.TEXT,
    whole: Annotated[bool, typer.Option("--all", help="Tell every finding, also equal ones.")] = False,
    warnings: Annotated[bool, typer.Option("--warnings-fail", help="Status 1 at a warning too.")] = False,
    vocabulary: Words = None,
) -> None:
    """Check ground truth (G11 to G19), and look through scenario files for what gives the answer away.

    Status 0: no error. Status 1: errors. Status 2: nothing could be checked.
    """
    from gauntlet_scoring.command.inputs import checked
    from gauntlet_scoring.command.shown import show_report
    from gauntlet_scoring.validation.sarif import sarif

    strength = Strength.LENIENT if lenient else Strength.STRICT
    reports = list(checked(path, strength=strength, vocabulary=vocabulary))
    if format_ is Format.TEXT:
        for report in reports:
            show_report(report, whole=whole)
    elif format_ is Format.JSON:
        _write(json.dumps([report.as_dict() for report in reports], indent=2, ensure_ascii=False), None)
    else:
        _write(json.dumps(sarif(reports), indent=2, ensure_ascii=False), None)
    weighs = (Level.ERROR, Level.WARNING) if warnings else (Level.ERROR,)
    if any(report.of_level(level) for report in reports for level in weighs):
        raise typer.Exit(int(Exit.FOUND))


@app.command()
def leaks(
    scenarios: Annotated[Path, typer.Argument(help="A scenario file, which agents see.")],
    truth: Annotated[Path | None, typer.Option("--truth", help="Its ground truth: its values are looked for.")] = None,
    *,
    vocabulary: Words = None,
) -> None:
    """Check that a scenario file gives away nothing: no expected answer, no characteristic form, no steps."""
    from gauntlet_scoring.command.inputs import read, truths_of
    from gauntlet_scoring.command.shown import show_report
    from gauntlet_scoring.validation.leaks import check_scenarios_text

    truths = [] if truth is None else truths_of(truth, vocabulary=vocabulary)[0]
    report = check_scenarios_text(read(scenarios), truths=truths, name=str(scenarios))
    show_report(report, whole=True)
    if not report.ok:
        raise typer.Exit(int(Exit.FOUND))


@app.command()
def convert(
    path: Annotated[Path, typer.Argument(help="A file of ground truth.")],
    *,
    to: Annotated[Target, typer.Option("--to", help="The reading that is wanted.")],
    qualified: Annotated[bool, typer.Option("--qualified", help="Write every tool as server/tool.")] = False,
    out: Out = None,
    vocabulary: Words = None,
) -> None:
    """Read a scenario of several agents as one of several MCP servers, or back; one JSON object a line."""
    from gauntlet_scoring.command.inputs import truths_of
    from gauntlet_scoring.conversion import ConversionError, to_multi_agent, to_multi_mcp

    truths, words = truths_of(path, vocabulary=vocabulary)
    rows: list[GroundTruth] = []
    for truth in truths:
        try:
            mcp = to is Target.MULTI_MCP
            rows.append(to_multi_mcp(truth, words, qualified=qualified) if mcp else to_multi_agent(truth, words))
        except ConversionError as error:
            raise CommandFailed(f"{path}: scenario {truth.key}: {error}") from error
    _write("\n".join(row.model_dump_json(exclude_unset=True) for row in rows), out)


@app.command()
def graph(
    path: Annotated[Path, typer.Argument(help="A file of ground truth.")],
    *,
    scenario: Annotated[str | None, typer.Option("--id", help="The scenario; needed where there are several.")] = None,
    out: Out = None,
    vocabulary: Words = None,
) -> None:
    """Draw a scenario's execution steps and their links as SVG."""
    from gauntlet_scoring.command.inputs import truths_of
    from gauntlet_scoring.step_graph import step_graph_svg

    truths = truths_of(path, vocabulary=vocabulary)[0]
    found = [truth for truth in truths if scenario is None or truth.key == scenario]
    if len(found) != 1:
        keys = ", ".join(truth.key for truth in truths[:20])
        raise CommandFailed(f"{path}: name one scenario with --id; there are {keys}{'…' if len(truths) > 20 else ''}")
    _write(step_graph_svg(found[0], standalone=True).rstrip("\n"), out)


@app.command()
def schema(*, out: Out = None) -> None:
    """Write the JSON Schema (draft-07) of a scenario with its ground truth."""
    from gauntlet_scoring.schema import ground_truth_schema

    _write(json.dumps(ground_truth_schema(), indent=2, ensure_ascii=False), out)


@app.command()
def rescore(
    evaluation: Annotated[str, typer.Argument(help="A folder, a downloaded archive, or …/evaluations/<id>.")],
    *,
    token: Annotated[
        str, typer.Option("--token", envvar="GAUNTLET_TOKEN", help="An organizer's, for an address.")
    ] = "",
    program: Annotated[str | None, typer.Option("--program", help="Only this scoring program.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="text or json.")] = Format.TEXT,
) -> None:
    """Score a stored evaluation again, without the agent, and compare with the stored scores, key by key.

    The scoring programs run on this machine, outside any sandbox. Status 0: all equal. Status 1: some differ.
    """
    from gauntlet_scoring.command.fetching import fetch, is_address
    from gauntlet_scoring.command.shown import show_rescored
    from gauntlet_scoring.rescoring import RescoringError, unpack_evaluation
    from gauntlet_scoring.rescoring import rescore as score_again

    with tempfile.TemporaryDirectory(prefix="gauntlet-rescore-") as temporary:
        work = Path(temporary)
        folder = Path(evaluation)
        try:
            if is_address(evaluation):
                if not token:
                    raise CommandFailed("an address needs --token (or GAUNTLET_TOKEN), a token of an organizer")
                folder = work / "evaluation.zip"
                fetch(evaluation, token=token, into=folder)
            if folder.is_file():
                unpack_evaluation(folder, work / "evaluation")
                folder = work / "evaluation"
            found = score_again(folder, work=work / "runs", only=program)
        except RescoringError as error:
            raise CommandFailed(str(error)) from error
    if format_ is Format.TEXT:
        show_rescored(found)
    else:
        rows = [
            {"program": one.program, "key": one.key, "stored": one.stored, "new": one.new, "equal": one.equal}
            for one in found.comparisons
        ]
        content = {"evaluation": found.evaluation, "same": found.same, "scores": rows, "failures": found.failures}
        _write(json.dumps(content, indent=2, ensure_ascii=False), None)
    if not found.same:
        raise typer.Exit(int(Exit.FOUND))


def _write(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text + "\n")
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{out}: cannot be written ({error.strerror})") from error


def main() -> None:
    """Run the command."""
    app()
