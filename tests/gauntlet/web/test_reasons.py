"""Why an episode got its scores, as its page tells it."""

from gauntlet.web.reasons_page import Reason, reasons


def test_checks_are_told_by_criterion_with_what_was_found() -> None:
    checks = [
        {"kind": "number", "holds": False, "reason": "count: expected the number 3, found 4"},
        {"kind": "called", "holds": True, "reason": "get_events was called as expected"},
    ]
    (group,) = reasons({"rubric": {"result_verification": checks}})
    assert group.title == "result verification"
    assert group.reasons == [
        Reason(holds=False, text="count: expected the number 3, found 4"),
        Reason(holds=True, text="get_events was called as expected"),
    ]


def test_anything_else_is_a_fact_of_its_program() -> None:
    (group,) = reasons({"rouge": {"plan_steps": 2, "plan_truncated": False, "plan_rougeL": 0.16216, "odd": [1, {}]}})
    assert (group.title, group.reasons) == ("rouge", ())
    assert list(group.facts) == [
        ("plan steps", "2"),
        ("plan truncated", "no"),
        ("plan rougeL", "0.162"),
        ("odd", "[1, {}]"),
    ]


def test_an_analysis_is_told_name_by_name() -> None:
    analysis = {"missing_steps": ["step s1 (sites) is missing", "the answer is missing"], "output_issues": []}
    (group,) = reasons({"hybrid": {"failure_analysis": analysis}})
    assert list(group.facts) == [
        ("missing steps", "step s1 (sites) is missing; the answer is missing"),
        ("output issues", "none"),
    ]
