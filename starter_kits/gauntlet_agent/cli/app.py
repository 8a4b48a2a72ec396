"""The `gauntlet` command: what can be typed. The work is in the modules beside this one, imported when needed."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from gauntlet_agent.cli.failure import CommandFailed, Exit
from gauntlet_agent.cli.logins import SERVER_VARIABLE

if TYPE_CHECKING:
    from gauntlet_agent.cli.platform_api import PlatformApi

EPILOG = (
    "Exit codes: 0 done; 1 failed (a bundle with errors, a submission that failed); 2 wrong usage; "
    "3 not logged in, or refused by the platform; 4 the platform cannot be reached."
)


class _Commands(TyperGroup):
    """Ends whatever goes wrong as one sentence on stderr and an exit code, never as a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CommandFailed as failed:
            typer.echo(f"gauntlet: {failed.message}", err=True)
            for hint in failed.hints:
                typer.echo(f"  {hint}", err=True)
            raise typer.Exit(int(failed.code)) from failed
        except KeyboardInterrupt as interrupted:
            typer.echo("gauntlet: interrupted.", err=True)
            raise typer.Exit(int(Exit.INTERRUPTED)) from interrupted


app = typer.Typer(
    name="gauntlet",
    cls=_Commands,
    help="Enter a Gauntlet competition: test an agent here, submit it, read its scores.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Server = Annotated[str | None, typer.Option("--server", envvar=SERVER_VARIABLE, help="Address of the platform.")]
Phase = Annotated[int | None, typer.Option("--phase", help="Index of the phase; the open one by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print the platform's JSON.")]


@contextlib.contextmanager
def _platform(server: str | None, *, needs_login: bool = True) -> Iterator[PlatformApi]:
    from gauntlet_agent.cli.logins import choose
    from gauntlet_agent.cli.platform_api import PlatformApi

    url, token = choose(server)
    if needs_login and not token:
        raise CommandFailed(
            f"You are not logged in to {url}. Run `gauntlet login --server {url}`, or set GAUNTLET_TOKEN.",
            code=Exit.REFUSED,
        )
    with PlatformApi(url, token) as api:
        yield api


def _echo_json(value: Any) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@app.command()
def login(
    server: Server = None,
    username: Annotated[str | None, typer.Option("--username", "-u", help="Asked for if missing.")] = None,
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin.")] = False,
) -> None:
    """Exchange user name and password for a token, kept in a file that only you can read."""
    from gauntlet_agent.cli.session import log_in

    log_in(server, username, password_from_stdin=password_stdin)


@app.command()
def logout(server: Server = None) -> None:
    """Forget the token of a server."""
    from gauntlet_agent.cli.session import log_out

    log_out(server)


@app.command()
def competitions(server: Server = None, json: Json = False) -> None:
    """List the competitions with their phases."""
    from gauntlet_agent.cli.views import show_competitions

    with _platform(server, needs_login=False) as api:
        found = list(api.competitions())
    if json:
        _echo_json(found)
    else:
        show_competitions(found)


@app.command()
def init(
    path: Annotated[
        Path | None, typer.Argument(help="A new or empty folder; one of the kit's name by default.")
    ] = None,
    kit: Annotated[str | None, typer.Option("--kit", "-k", help="Which kit; without one, they are listed.")] = None,
) -> None:
    """Copy a starter kit: an agent that runs as it is, to be changed."""
    from gauntlet_agent.cli.starters import show_starters, start

    if kit is None:
        if path is not None:
            raise CommandFailed("Say which kit: `gauntlet init` lists them.", code=Exit.USAGE)
        show_starters()
        return
    made = start(kit, path)
    typer.echo(f"{made}: read its README.md, then `gauntlet test {made} --competition NAME`.")


@app.command()
def submit(
    competition: Annotated[str, typer.Option("--competition", "-c", help="The competition's short name.")],
    path: Annotated[
        Path | None, typer.Argument(help="The agent's folder (with agent.yaml), or a zip; of results too.")
    ] = None,
    image: Annotated[str | None, typer.Option("--image", help="Instead: a container image that Docker has.")] = None,
    image_archive: Annotated[
        Path | None, typer.Option("--image-archive", help="Instead: a file of `docker save`, or an OCI layout's tar.")
    ] = None,
    phase: Phase = None,
    name: Annotated[str | None, typer.Option("--name", help="What to call it; agent.yaml's by default.")] = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Follow it to the end; exit 1 if it failed.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Go on with what broke off or got no answer, or forget it.")
    ] = True,
    server: Server = None,
) -> None:
    """Check an agent, or take results where the phase does, pack it (not what .gauntletignore names) and upload it.

    With --image the agent is a container image: it is saved, compressed and sent. Whatever is large is sent in parts: a
    broken connection is gone on with, and so is a command that was ended, when it is typed again. Where no answer came,
    the same command makes no second submission; after an answer it submits the same file once more.
    """
    from gauntlet_agent.cli import submit as steps
    from gauntlet_agent.cli.follow import conclude, follow
    from gauntlet_agent.cli.unfinished import is_awaited

    if sum(given is not None for given in (path, image, image_archive)) != 1:
        message = "Say what to submit: a folder or zip, or --image NAME, or --image-archive FILE."
        raise CommandFailed(message, code=Exit.USAGE)
    manifest = steps.checked(path) if path is not None and steps.may_be_agent(path) else None
    with _platform(server) as api:
        chosen = steps.choose_phase(api.competition(competition), phase)
        if path is not None:
            steps.check_fits(path, chosen, manifest)
        steps.announce_attempts(chosen, awaited=is_awaited(api.server, competition, int(chosen["index"])))
        if path is None:
            made = steps.upload_image(
                api, competition, chosen, image=image, archive=image_archive, name=name, resume=resume
            )
        else:
            own_name = manifest.name if manifest else ""
            name = name or own_name or None
            made = steps.upload(api, competition, chosen, path=path, name=name, resume=resume)
        typer.echo(api.page_of(made))
        if wait:
            conclude(follow(api, str(made["id"])))


@app.command()
def status(
    submission: Annotated[str | None, typer.Argument(help="Its id; without one, all of yours.")] = None,
    competition: Annotated[str | None, typer.Option("--competition", "-c", help="Only those of one.")] = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Follow it to the end; exit 1 if it failed.")] = False,
    server: Server = None,
    json: Json = False,
) -> None:
    """Show where a submission stands and what it scored."""
    from gauntlet_agent.cli.follow import conclude, follow
    from gauntlet_agent.cli.views import show_submission, show_submissions

    if wait and submission is None:
        raise CommandFailed("--wait needs the id of a submission.", code=Exit.USAGE)
    with _platform(server) as api:
        if submission is None:
            found = list(api.submissions(competition))
            _echo_json(found) if json else show_submissions(found)
            return
        state = follow(api, submission) if wait else api.submission(submission)
        if json:
            _echo_json(state)
        elif wait:
            conclude(state)
        else:
            show_submission(state)


@app.command()
def logs(
    submission: Annotated[str, typer.Argument(help="The submission's id.")],
    server: Server = None,
) -> None:
    """Print what your agent printed, where the phase shows it."""
    from gauntlet_agent.cli.output import clean

    with _platform(server) as api:
        text = api.log(submission)
    typer.echo(clean(text), nl=False)


@app.command()
def cancel(
    submission: Annotated[str, typer.Argument(help="The submission's id.")],
    server: Server = None,
) -> None:
    """End a submission at once, for good."""
    with _platform(server) as api:
        api.cancel(submission)
    typer.echo("Cancelled.")


@app.command()
def leaderboard(
    competition: Annotated[str, typer.Argument(help="The competition's short name.")],
    phase: Phase = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json: Json = False,
    server: Server = None,
) -> None:
    """Show a leaderboard."""
    from gauntlet_agent.cli.submit import choose_phase
    from gauntlet_agent.cli.views import show_leaderboard

    if csv and json:
        raise CommandFailed("Choose one of --csv and --json.", code=Exit.USAGE)
    with _platform(server, needs_login=False) as api:
        if phase is None:
            phase = int(choose_phase(api.competition(competition), None, open_only=False)["index"])
        if csv:
            typer.echo(api.leaderboard_csv(competition, phase), nl=False)
            return
        board = api.leaderboard(competition, phase)
    if json:
        _echo_json(board)
    else:
        show_leaderboard(board)


@app.command("test")
def run_test(
    path: Annotated[Path, typer.Argument(help="The agent's folder.")] = Path(),
    kit: Annotated[Path | None, typer.Option("--kit", help="A competition's folder on this machine.")] = None,
    competition: Annotated[
        str | None,
        typer.Option("--competition", "-c", help="Fetch this competition's public data."),
    ] = None,
    phase: Phase = None,
    scenarios: Annotated[int | None, typer.Option("--scenarios", "-n", min=1, help="Only the first N.")] = None,
    sandbox: Annotated[str | None, typer.Option("--sandbox", help="bubblewrap or docker.")] = None,
    log: Annotated[bool, typer.Option("--log", help="Print what the agent printed, too.")] = False,
    server: Server = None,
) -> None:
    """Run an agent on this machine, in the same sandbox and with the same gateway as on the platform."""
    from gauntlet_agent.cli.kits import kit_folder
    from gauntlet_agent.cli.local import run_and_show
    from gauntlet_agent.cli.submit import checked

    if (kit is None) == (competition is None):
        message = "Say which scenarios: --kit FOLDER for one on this machine, or --competition NAME to fetch them."
        raise CommandFailed(message, code=Exit.USAGE)
    if sandbox not in (None, "bubblewrap", "docker"):
        raise CommandFailed("--sandbox is bubblewrap or docker.", code=Exit.USAGE)
    if path.is_file():
        raise CommandFailed("`gauntlet test` runs a folder; unpack the archive first.", code=Exit.USAGE)
    checked(path)
    if kit is None:
        assert competition is not None  # noqa: S101  for the type checker: one of the two is given
        with _platform(server, needs_login=False) as api:
            kit = kit_folder(api, competition, phase)
    run_and_show(path, kit, limit=scenarios, sandbox=sandbox, show_log=log)


def main() -> None:
    """Run the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal's letters may be few: what it lacks is a question mark
            stream.reconfigure(errors="replace")
    try:
        app()
    except BrokenPipeError:  # `gauntlet leaderboard | head`: the reader has seen enough
        with contextlib.suppress(OSError):
            sys.stdout.close()
        sys.exit(int(Exit.OK))
