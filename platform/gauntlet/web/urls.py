"""Addresses of the pages."""

from __future__ import annotations

from django.urls import path

from gauntlet.web.views import (
    accounts,
    comparison,
    competitions,
    episodes,
    exclusions,
    home,
    model_providers,
    operators,
    organizer,
    organizer_teams,
    reviews,
    studies,
    submissions,
    submit,
    teams,
    validation,
)

_ONE = "competitions/<slug:slug>/"
_STUDY = f"{_ONE}organizer/reviews/<uuid:study_id>/"

urlpatterns = [
    path("", home.home, name="home"),
    path("terms/", home.site_terms, name="site-terms"),
    path("theme", home.theme, name="theme"),
    path("accounts/profile/", accounts.profile, name="profile"),
    path("accounts/tokens/", accounts.token_create, name="token-create"),
    path("accounts/tokens/<uuid:token_id>/revoke", accounts.token_revoke, name="token-revoke"),
    path("submissions/", submissions.mine, name="my-submissions"),
    path("submissions/<uuid:submission_id>/", submissions.page, name="submission"),
    path("submissions/<uuid:submission_id>/story", submissions.story, name="submission-story"),
    path("submissions/<uuid:submission_id>/compare/", comparison.comparison, name="submission-comparison"),
    path("submissions/<uuid:submission_id>/cancel", submissions.cancel, name="submission-cancel"),
    path("submissions/<uuid:submission_id>/exclusion", exclusions.exclude, name="submission-exclude"),
    path(
        "submissions/<uuid:submission_id>/reports/<uuid:evaluation_id>/<slug:program>/",
        submissions.report,
        name="submission-report",
    ),
    path("episodes/<uuid:episode_id>/", episodes.episode, name="episode"),
    path("reviews/", reviews.mine, name="my-reviews"),
    path("reviews/<uuid:study_id>/", reviews.study, name="review"),
    path("reviews/<uuid:study_id>/<int:number>/", reviews.item, name="review-item"),
    path("validate/", validation.validate, name="validate"),
    path("operators/workers/", operators.workers, name="operators-workers"),
    path("import/", organizer.import_page, name="import"),
    path(_ONE, competitions.overview, name="competition"),
    path(f"{_ONE}pages/<int:index>/", competitions.overview, name="competition-page"),
    path(f"{_ONE}terms/", competitions.terms, name="competition-terms"),
    path(f"{_ONE}join", competitions.join_competition, name="join"),
    path(f"{_ONE}leaderboard/", competitions.leaderboard, name="leaderboard"),
    path(f"{_ONE}leaderboard/<int:index>/", competitions.leaderboard, name="leaderboard-phase"),
    path(f"{_ONE}submit/", submit.submit, name="submit"),
    path(f"{_ONE}team/", teams.team, name="team"),
    path(f"{_ONE}team/create", teams.create_team, name="team-create"),
    path(f"{_ONE}team/join", teams.join_team, name="team-join"),
    path(f"{_ONE}team/leave", teams.leave_team, name="team-leave"),
    path(f"{_ONE}submissions/", submissions.of_competition, name="competition-submissions"),
    path(f"{_ONE}organizer/", organizer.submissions, name="organizer"),
    path(f"{_ONE}organizer/participants/", organizer.participants, name="organizer-participants"),
    path(f"{_ONE}organizer/teams/", organizer_teams.teams, name="organizer-teams"),
    path(f"{_ONE}organizer/teams/<int:team_id>/", organizer_teams.team, name="organizer-team"),
    path(f"{_ONE}organizer/models/", model_providers.model_providers, name="organizer-models"),
    path(
        f"{_ONE}organizer/models/<slug:name>/remove",
        model_providers.remove_model_provider,
        name="organizer-models-remove",
    ),
    path(f"{_ONE}organizer/reviews/", studies.studies, name="organizer-studies"),
    path(f"{_STUDY}", studies.study, name="organizer-study"),
    path(f"{_STUDY}answers.csv", studies.answers, name="organizer-study-answers"),
    path(f"{_STUDY}invite", studies.invite_reviewers, name="organizer-study-invite"),
    path(f"{_STUDY}reviewers/<int:reviewer_id>/withdraw", studies.withdraw_invitation, name="organizer-study-withdraw"),
    path(f"{_STUDY}state", studies.set_state, name="organizer-study-state"),
    path(f"{_ONE}organizer/publish", organizer.publish_competition, name="organizer-publish"),
]
