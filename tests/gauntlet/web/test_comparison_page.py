"""Where a phase shows what agents did, a comparison leads to both records of each scenario that changed."""

from __future__ import annotations

import re


def test_both_records_of_a_scenario_that_changed_can_be_opened(world, participant):
    finished, earlier = world.by_state["finished"], world.by_state["earlier"]
    html = participant.get(f"/submissions/{finished.pk}/compare/?with={earlier.pk}").content.decode()
    changes = html.partition("What changed, scenario by scenario")[2]
    assert "Which anomalies of air handler 2" in changes
    links = re.findall(r'href="(/episodes/[^"]+)">(A|B)’s record<', changes)
    assert {side for _, side in links} == {"A", "B"}
    owners = {"A": finished, "B": earlier}
    for path, side in links:
        assert f'href="/submissions/{owners[side].pk}/"' in participant.get(path).content.decode()


def test_a_hidden_scenarios_record_is_not_led_to(world, participant):
    finished, earlier = world.by_state["finished"], world.by_state["earlier"]
    finished.phase.tasks.get().scenarios.update(public=False)
    html = participant.get(f"/submissions/{finished.pk}/compare/?with={earlier.pk}").content.decode()
    changes = html.partition("What changed, scenario by scenario")[2]
    assert "the same." in changes
    assert "/episodes/" not in changes
    assert "air handler" not in changes
