"""A right bundle becomes a competition wholly; a wrong one leaves nothing."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from gauntlet.accounts.models import Event, User
from gauntlet.competitions.creation import opaque_id
from gauntlet.competitions.errors import BundleRefused, SlugTaken
from gauntlet.competitions.models import Competition, Scenario, Task
from gauntlet.competitions.services import import_bundle, publish
from gauntlet.storage.models import Artifact
from gauntlet.storage.services import open_artifact

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(make_user: Callable[..., User]) -> User:
    """Who imports."""
    return make_user("organizer")


def test_everything_that_the_bundle_says_is_in_the_rows(bundle: Any, organizer: User) -> None:
    competition = import_bundle(bundle.root, organizer=organizer, publish=True)
    assert (competition.slug, competition.published, competition.organizer) == ("a-small-competition", True, organizer)
    assert competition.terms == "Be fair.\n"
    (page,) = competition.pages.all()
    assert "<h1>Hello</h1>" in page.html
    assert "script" not in page.html
    (task,) = competition.tasks.all()
    assert task.environment_command == ["python", "server.py", "--fast"]
    assert task.limits == {"episode_seconds": 60, "memory": 512 << 20}
    assert task.hidden
    programs = [(p.key, p.version) for p in task.scoring_programs.all()]
    assert programs[0][0] == "rubric"
    assert programs[0][1].startswith("1.")
    assert programs[1] == ("scoring", "")
    first, second = competition.phases.all()
    assert first.start == datetime(2026, 1, 1, 8, 30, tzinfo=UTC)
    assert second.start == datetime(2026, 6, 1, tzinfo=UTC)
    assert (first.max_submissions_per_day, first.max_submissions, second.max_submissions_per_day) == (3, 100, 5)
    assert (first.visibility, second.visibility) == ("scores", "scores")  # hidden scenarios: by default
    assert first.kit is not None
    (board,) = competition.leaderboards.all()
    columns = {c.key: c for c in board.columns.all()}
    assert [c.key for c in columns.values() if c.primary] == ["score"]
    assert (columns["own"].low, columns["own"].high, columns["own"].over) == (None, None, "sum")
    assert (columns["steps"].sorting, columns["steps"].source) == ("asc", "episodes.steps")
    names = list(Event.objects.filter(subject_id=str(competition.pk)).values_list("name", flat=True))
    assert names == ["competition.created", "competition.published"]


def test_trials_have_a_sandbox_each_and_a_column_may_ask_for_all_of_them(bundle: Any, organizer: User) -> None:
    bundle.replace("    visibility: scores", "    visibility: scores\n    trials: 3")
    bundle.replace("over: sum", "over: pass^3\n        interval: bootstrap")
    competition = import_bundle(bundle.root, organizer=organizer, publish=True)
    assert [(phase.trials, phase.isolation) for phase in competition.phases.all()] == [
        (3, "scenario"),
        (1, "submission"),
    ]
    column = competition.leaderboards.get().columns.get(key="own")
    # The score's own scale, 0 to 10, says what a full pass is; the column itself is a share.
    assert (column.over, column.pass_at, column.low, column.high) == ("pass^3", 10.0, 0.0, 1.0)


def test_columns_choose_scenarios_by_tags_of_the_ground_truth_and_baselines_stand_beside_the_board(
    bundle: Any, organizer: User
) -> None:
    bundle.replace("version: 2", "version: 2\nmax_team_size: 4")
    bundle.replace("over: sum", "over: sum\n        where: {category: Data Query, type: [IoT]}")
    bundle.replace(
        "    columns:", "    baselines:\n      - {name: gpt-4.1, source: A paper, scores: {score: 0.65}}\n    columns:"
    )
    competition = import_bundle(bundle.root, organizer=organizer, publish=True)
    assert competition.max_team_size == 4
    board = competition.leaderboards.get()
    assert board.columns.get(key="own").where == {"category": ["Data Query"], "type": ["IoT"]}
    assert board.columns.get(key="score").where == {}
    scenarios = competition.tasks.get().scenarios.all()
    assert [one.tags for one in scenarios] == [{"category": "Data Query", "type": "IoT"}] * 2
    baseline = board.baselines.get()
    assert (baseline.name, baseline.source, baseline.scores) == ("gpt-4.1", "A paper", {"score": 0.65})


def test_scenarios_have_opaque_ids_that_differ_between_tasks_and_secrets(
    bundle: Any, organizer: User, settings: Any
) -> None:
    import_bundle(bundle.root, organizer=organizer, publish=True)
    one, two = Scenario.objects.order_by("index")
    assert (one.key, one.public, one.show) == ("s-1", True, {"unit": "h"})
    assert not two.public
    assert one.opaque_id != two.opaque_id
    assert one.opaque_id == opaque_id(one.task_id, "s-1")
    settings.GAUNTLET_SECRET = "another secret of another installation"
    assert one.opaque_id != opaque_id(one.task_id, "s-1")


def test_the_ground_truth_is_in_the_reference_data_and_in_no_row(bundle: Any, organizer: User) -> None:
    import_bundle(bundle.root, organizer=organizer, publish=True)
    task = Task.objects.get()
    assert task.reference_data is not None
    with open_artifact(task.reference_data) as archive:
        assert b"characteristic_form" in zipfile.ZipFile(archive).read("ground_truth.jsonl")
    assert "characteristic_form" not in str(list(Scenario.objects.values()))


def test_a_zip_gives_the_same_artifacts_as_its_folder(bundle: Any, organizer: User, tmp_path: Path) -> None:
    by_folder = import_bundle(bundle.root, organizer=organizer, publish=False)
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in bundle.root.rglob("*"):
            if file.is_file():
                archive.write(file, f"top/{file.relative_to(bundle.root).as_posix()}")
    by_zip = import_bundle(path, organizer=organizer, publish=False, slug="second")
    one, two = by_folder.tasks.get(), by_zip.tasks.get()
    assert (one.environment, one.input_data, one.reference_data) == (
        two.environment,
        two.input_data,
        two.reference_data,
    )
    assert by_zip.bundle is not None
    with open_artifact(by_zip.bundle) as stored:
        assert stored.read() == path.read_bytes()


def test_a_wrong_bundle_leaves_nothing(bundle: Any, organizer: User) -> None:
    bundle.replace("rubric.score", "rubric.nothing")
    with pytest.raises(BundleRefused) as caught:
        import_bundle(bundle.root, organizer=organizer, publish=True)
    assert caught.value.errors[0]["line"] == bundle.line_of("rubric.nothing")
    assert not Competition.objects.exists()
    assert not Artifact.objects.exists()
    assert not Event.objects.exists()


def test_a_name_that_is_taken_leaves_nothing_more(bundle: Any, organizer: User) -> None:
    import_bundle(bundle.root, organizer=organizer, publish=True)
    with pytest.raises(SlugTaken, match="--slug"):
        import_bundle(bundle.root, organizer=organizer, publish=True)
    assert Competition.objects.count() == 1
    assert Task.objects.count() == 1


def test_a_failure_in_the_middle_leaves_nothing(bundle: Any, organizer: User, monkeypatch: Any) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("gauntlet.competitions.creation.Creation._create_board", fail)
    with pytest.raises(RuntimeError):
        import_bundle(bundle.root, organizer=organizer, publish=True)
    assert not Competition.objects.exists()
    assert not Scenario.objects.exists()


def test_a_plain_codabench_column_takes_the_score_of_its_own_name(bundle: Any, organizer: User) -> None:
    bundle.write("scoring/metadata.yaml", "command: python score.py\n")
    bundle.replace('      - name: rubric\n        version: "1"\n', "")
    bundle.replace("        from: rubric.score\n", "")
    bundle.replace("        from: scoring.own\n", "")
    competition = import_bundle(bundle.root, organizer=organizer, publish=True)
    sources = list(competition.leaderboards.get().columns.values_list("source", flat=True))
    assert sources == ["scoring.score", "scoring.own", "episodes.steps"]


@pytest.mark.parametrize("written", ["0", "", "null"])
def test_no_quota_is_written_as_on_codabench(written: str, bundle: Any, organizer: User) -> None:
    bundle.replace("max_submissions_per_day: 3", f"max_submissions_per_day: {written}")
    competition = import_bundle(bundle.root, organizer=organizer, publish=True)
    assert competition.phases.get(index=0).max_submissions_per_day is None


def test_what_is_kept_is_in_the_extras(bundle: Any, organizer: User) -> None:
    bundle.replace("description: For tests", "fact_sheet: {a: [1, 2026-01-01]}")
    bundle.replace("visibility: scores", "visibility: scores\n    hide_prediction_output: true")
    competition = import_bundle(bundle.root, organizer=organizer, publish=True)
    assert competition.extras == {
        "fact_sheet": {"a": [1, "2026-01-01"]},
        "phases": {"0": {"hide_prediction_output": True}},
    }


def test_publishing_again_changes_nothing(bundle: Any, organizer: User) -> None:
    competition = import_bundle(bundle.root, organizer=organizer, publish=False)
    publish(competition, actor=organizer)
    publish(competition, actor=organizer)
    assert Competition.objects.get().published
    assert Event.objects.filter(name="competition.published").count() == 1


class TestCommand:
    """`manage.py import_competition`."""

    def run(self, *arguments: str) -> tuple[str, str]:
        out, err = io.StringIO(), io.StringIO()
        try:
            call_command("import_competition", *arguments, stdout=out, stderr=err, no_color=True)
        except CommandError as error:
            err.write(f"CommandError: {error}")
        return out.getvalue(), err.getvalue()

    def test_it_prints_file_and_line_of_each_finding_and_creates_nothing(self, bundle: Any, organizer: User) -> None:
        bundle.replace("visibility: scores", "visibility: some")
        line = bundle.line_of("visibility: some")
        _, err = self.run(str(bundle.root), "--organizer", "organizer")
        assert f"competition.yaml:{line}: error: phases[0].visibility:" in err
        assert "Allowed: full, scores, none." in err
        assert "CommandError: 1 error; nothing was created." in err
        assert not Competition.objects.exists()

    def test_it_imports(self, bundle: Any, organizer: User) -> None:
        out, _ = self.run(str(bundle.root), "--organizer", "organizer", "--slug", "mine", "--publish")
        assert out == "mine: A small competition\n"
        assert Competition.objects.get(slug="mine").published

    def test_check_only_creates_nothing_and_needs_nobody(self, bundle: Any) -> None:
        out, _ = self.run(str(bundle.root), "--check-only")
        assert "no errors" in out
        assert not Competition.objects.exists()

    def test_an_unknown_organizer(self, bundle: Any) -> None:
        assert "--organizer" in self.run(str(bundle.root), "--organizer", "nobody")[1]


def test_the_page_shows_warnings_before_the_draft(bundle: Any, organizer: User, client: Client) -> None:
    from django.contrib.auth.models import Permission

    from gauntlet.storage.folders import write_zip

    organizer.user_permissions.add(Permission.objects.get(codename="add_competition"))
    client.force_login(organizer)
    bundle.replace("time_zone: UTC", "time_zone: UTC\ntreshold: 3")
    packed = io.BytesIO()
    write_zip(bundle.root, packed)
    packed.seek(0)
    packed.name = "some.zip"
    answer = client.post("/import/", {"bundle": packed}, headers={"Accept": "application/json"})
    page = answer.content.decode()
    assert answer.status_code == 201
    assert "A small competition was imported, with 1 warning" in page
    assert f"competition.yaml:{bundle.line_of('treshold')}" in page
    assert 'href="/competitions/a-small-competition/"' in page
