"""The leaderboard's page: order, ties, baselines, search, the reader's own row."""

from __future__ import annotations

import re

PLANT = "/competitions/plant-floor-questions"
TELEMETRY = "/competitions/district-heating-telemetry"


def table(client, path):
    """The board's rows: rank, name, primary score."""
    html = client.get(path).content.decode()
    rows = re.findall(r"<tr[^>]*><td>([^<]*)<th>([^<]*)(.*?)(?=<tr|</tbody)", html, re.DOTALL)
    return [(rank, name.strip(), re.search(r"<td>([^<]*)", rest)[1]) for rank, name, rest in rows]


def test_equal_scores_share_a_rank_and_the_next_one_is_skipped(visitor):
    rows = [row for row in table(visitor, f"{TELEMETRY}/leaderboard/") if row[0] != "–"]
    ranks = [int(rank) for rank, _, _ in rows]
    scores = [float(score) for _, _, score in rows]
    assert ranks == sorted(ranks)
    assert ranks == [1 + sum(other > score for other in scores) for score in scores]
    assert len(set(ranks)) < len(ranks)


def test_a_search_keeps_the_ranks_of_the_whole_board(visitor):
    whole = {name: rank for rank, name, _ in table(visitor, f"{TELEMETRY}/leaderboard/")}
    found = table(visitor, f"{TELEMETRY}/leaderboard/?q=amber-")
    assert found
    for rank, name, _ in found:
        assert whole.get(name, rank) == rank


def test_the_own_row_is_named_with_its_true_rank_on_every_page_and_in_every_order(participant):
    sayings = set()
    for query in ("", "?page=2", "?sort=seconds", "?sort=-rubric", "?q=zhang"):
        html = participant.get(f"{TELEMETRY}/leaderboard/{query}").content.decode()
        sayings.add(re.search(r"You: rank (\d+)", html)[1])
    assert len(sayings) == 1
    (rank,) = sayings
    whole = {
        name: rank for page in (1, 2) for rank, name, _ in table(participant, f"{TELEMETRY}/leaderboard/?page={page}")
    }
    assert whole["ada"] == rank


def test_a_baseline_is_marked_and_has_no_rank(visitor):
    html = visitor.get(f"{PLANT}/leaderboard/1/").content.decode()
    own, published = re.findall(r'<tr class="base">(.*?)(?=<tr|</tbody)', html, re.DOTALL)
    assert own.startswith("<td>–<th>plantops")
    assert "baseline" in own
    assert published.startswith("<td>–<th>Lookup table")
    assert "Made up" in published
    assert "They were not measured here and have no rank." in html


def test_heads_say_where_better_lies_and_turn_the_order_round(visitor):
    html = visitor.get(f"{PLANT}/leaderboard/1/?sort=seconds").content.decode()
    assert re.search(r'aria-sort="ascending"><a href="\?sort=-seconds"', html)
    assert "lower is better" in html
    assert "higher is better, 0 to 1" in html
    assert 'href="?sort=rubric"' in html


def test_pages_keep_order_and_search(visitor):
    html = visitor.get(f"{TELEMETRY}/leaderboard/?sort=seconds").content.decode()
    assert 'href="?sort=seconds&amp;page=2"' in html
    assert visitor.get(f"{TELEMETRY}/leaderboard/?page=99999999999999").status_code == 200
    assert visitor.get(f"{TELEMETRY}/leaderboard/?page=²").status_code == 200


def test_the_sentence_above_says_what_is_measured_on_how_many_since_when(visitor):
    html = visitor.get(f"{PLANT}/leaderboard/1/").content.decode()
    assert re.search(r"Rubric, higher is better, measured on 60 hidden scenarios since <time", html)
    assert "measured on 20 public scenarios" in visitor.get(f"{PLANT}/leaderboard/0/").content.decode()
