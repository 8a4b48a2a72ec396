"""Answers as CSV: whole, in order, and no cell that becomes a formula."""

from __future__ import annotations

import csv
import io

import pytest

from gauntlet.csv_cells import safe_cell
from gauntlet.reviews import services
from gauntlet.reviews.criteria import KEYS
from gauntlet.reviews.export import answers_csv


def rows(study):
    return list(csv.DictReader(io.StringIO(answers_csv(study))))


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_what_a_spreadsheet_would_compute_is_text(begin):
    assert safe_cell(f"{begin}1+1") == f"'{begin}1+1"
    assert safe_cell(f"1{begin}") == f"1{begin}"


def test_a_line_an_answer_with_what_the_judge_had_said(study, ask):
    one, two = ask(study), ask(study)
    items = list(study.items.all())
    services.save_judgement(two, items[1], answers=dict.fromkeys(KEYS, False), comment="")
    services.save_judgement(one, items[1], answers={KEYS[0]: True}, comment='=HYPERLINK("http://x","y")')
    services.save_judgement(one, items[0], answers={}, comment="-1\nand more")
    found = rows(study)
    assert [(row["number"], row["person"]) for row in found] == [
        ("1", one.user.username), ("2", one.user.username), ("2", two.user.username),
    ]  # fmt: skip
    assert found[1]["comment"] == '\'=HYPERLINK("http://x","y")'
    assert found[0]["comment"] == "'-1\nand more"
    assert (found[1][KEYS[0]], found[1][KEYS[1]], found[2][KEYS[5]]) == ("true", "", "false")
    assert found[1]["scenario"] == items[1].scenario.key
    assert found[1]["episode"] == str(items[1].episode_id)
    assert found[1]["judge_task_completion"] == str(items[1].verdicts["task_completion"]).lower()
    assert "judge_hallucinations" not in found[0]


def test_the_survey_has_the_background_beside_each_rating(survey, ask):
    reviewer = ask(survey)
    services.save_background(reviewer, role="@engineer", years=7, familiarity="daily")
    services.save_rating(reviewer, survey.items.get(number=1), value=3, comment="")
    (row,) = rows(survey)
    assert (row["rating"], row["role"], row["years"], row["familiarity"]) == ("3", "'@engineer", "7", "daily")


def test_a_study_without_answers_is_a_head_alone(study, survey):
    for one in (study, survey):
        assert answers_csv(one).count("\r\n") == 1
