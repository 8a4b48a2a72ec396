"""API of leaderboards: JSON by page, CSV as a whole."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gauntlet.api_requests import AnyAccept
from gauntlet.leaderboards.access import access_board
from gauntlet.leaderboards.columns import trials_needed
from gauntlet.leaderboards.export import board_csv
from gauntlet.leaderboards.selectors import Board, Row, board
from gauntlet.submissions.teams import entrant_id


class LeaderboardJson(APIView):
    """A page of a board."""

    def get(self, request: Request, slug: str, index: int) -> Response:
        """``?page=``, ``?sort=`` (a column key, "-" before it for the worse end first), ``?search=``."""
        leaderboard, phase = access_board(request.user, slug=slug, phase=index)
        page = request.query_params.get("page", "1")
        found = board(
            leaderboard=leaderboard,
            phase=phase,
            reader_id=entrant_id(request.user, leaderboard.competition),
            sort=request.query_params.get("sort", ""),
            search=request.query_params.get("search", ""),
            page=int(page) if page.isdecimal() and len(page) < 7 else 1,
        )
        return Response(board_json(found))


def board_json(found: Board) -> dict[str, Any]:
    """A board as the API gives it: values unrounded."""
    return {
        "title": found.leaderboard.title,
        "updated_at": found.updated_at,
        "scenarios": found.scenarios,
        "hidden_scenarios": found.hidden_scenarios,
        "trials": found.phase.trials,
        "columns": [
            {
                "key": column.key,
                "title": column.title,
                "sorting": column.sorting,
                "precision": column.precision,
                "over": "" if column.computation else column.over,
                "trials_needed": trials_needed(column),
                "primary": column == found.primary,
                "unverified": column.unverified,
                "min_verified": column.min_verified,
            }
            for column in found.columns
        ],
        "rows": [_row_json(row) for row in found.rows],
        "own_row": _row_json(found.own_row) if found.own_row else None,
        "published": [
            {"name": one.name, "source": one.source, "scores": {key: cell.value for key, cell in one.cells.items()}}
            for one in found.published
        ],
        "entries": found.entries,
        "matching": found.total,
        "page": found.page,
        "pages": found.pages,
    }


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "participant": row.participant,
        "baseline": row.baseline,
        "scores": {
            key: {"value": cell.value, "low": cell.low, "high": cell.high, "unverified": cell.unverified}
            for key, cell in row.cells.items()
        },
        "scenarios": row.scenarios,
        "submitted_at": row.submitted_at,
    }


class LeaderboardCsv(APIView):
    """The whole of a board."""

    content_negotiation_class = AnyAccept

    def get(self, request: Request, slug: str, index: int) -> StreamingHttpResponse:
        """As CSV, values unrounded, intervals beside them."""
        leaderboard, phase = access_board(request.user, slug=slug, phase=index)
        lines = board_csv(leaderboard=leaderboard, phase=phase)
        response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{slug}-{phase.index}.csv"'
        return response


urlpatterns = [
    path("competitions/<slug:slug>/phases/<int:index>/leaderboard", LeaderboardJson.as_view(), name="api-leaderboard"),
    path(
        "competitions/<slug:slug>/phases/<int:index>/leaderboard.csv",
        LeaderboardCsv.as_view(),
        name="api-leaderboard-csv",
    ),
]
