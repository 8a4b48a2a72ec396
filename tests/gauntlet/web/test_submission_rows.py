"""A list of submissions names each score that its reader may see, and which one stands on the board."""

from __future__ import annotations

import re
from datetime import timedelta

from django.utils import timezone

PLANT = "/competitions/plant-floor-questions"


def lines(client, path):
    """The table's rows by the submission's name, as words."""
    html = client.get(path).content.decode()
    rows = re.findall(r"<tr[^>]*><th scope=\"row\">.*?</tr>", html, re.DOTALL)
    words = [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in rows]
    return {line.partition(" Development")[0].partition(" Test")[0]: line for line in words}


def test_the_score_and_the_one_on_the_board_are_named(world, participant):
    found = lines(participant, f"{PLANT}/submissions/")
    assert "0.812 Rubric on the board" in found["planner 13 (finished)"]
    assert "0.743 Rubric" in found["planner 12"]
    assert "on the board" not in found["planner 12"]
    assert "Rubric" not in found["planner 13 (running)"]


def test_no_score_is_named_before_the_reveal_but_to_the_organizer(world, participant, organizer):
    from gauntlet.competitions.models import Visibility

    phase = world.by_state["finished"].phase
    phase.visibility, phase.reveal_at = Visibility.NONE, timezone.now() + timedelta(days=1)
    phase.save()
    found = lines(participant, f"{PLANT}/submissions/")
    assert "Rubric" not in found["planner 13 (finished)"]
    assert "on the board" not in found["planner 13 (finished)"]
    assert "0.812 Rubric" in lines(organizer, f"{PLANT}/organizer/")["planner 13 (finished) ada"]
    phase.reveal_at = timezone.now() - timedelta(days=1)
    phase.save()
    assert "0.812 Rubric" in lines(participant, f"{PLANT}/submissions/")["planner 13 (finished)"]


def test_a_hidden_board_and_a_hidden_column_are_named_nowhere(world, participant):
    board = world.plant.leaderboards.get()
    board.columns.filter(primary=True).update(hidden=True)
    assert "Completion" in lines(participant, f"{PLANT}/submissions/")["planner 13 (finished)"]
    board.hidden = True
    board.save()
    assert "on the board" not in " ".join(lines(participant, f"{PLANT}/submissions/").values())
