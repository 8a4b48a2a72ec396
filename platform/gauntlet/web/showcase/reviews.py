"""The showcase's studies: people who judge a judge, and who rate scenarios."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from gauntlet.accounts.models import User
from gauntlet.competitions.models import Phase
from gauntlet.reviews import services
from gauntlet.reviews.criteria import KEYS
from gauntlet.reviews.models import Judgement, Rating, Reviewer, Study
from gauntlet.web.showcase import texts

EXPERTS: Final = ("m.weber", "h.lindgren", "s.okafor")
_SEED: Final = 11
_AS_USUAL: Final = {key: key != "hallucinations" for key in KEYS}


def studies(development: Phase, test: Phase, *, organizer: User, people: Sequence[User], seed: int) -> dict[str, Study]:
    """One to which nobody is invited, one that is half judged by three experts, and a survey; people not of a board."""
    rng = random.Random(seed)  # noqa: S311 -- made-up answers, nothing secret
    return {
        "drawn": services.draw_judge_study(test, program="rubric", size=20, seed=_SEED, actor=organizer),
        "judge": _judge_study(development, organizer=organizer, experts=people[:3], rng=rng),
        "survey": _survey(test, organizer=organizer, people=people, rng=rng),
    }


def _judge_study(phase: Phase, *, organizer: User, experts: Sequence[User], rng: random.Random) -> Study:
    """Twelve trajectories; the experts have answered all, about half, and a few of them."""
    study = services.draw_judge_study(phase, program="rubric", size=12, seed=_SEED, actor=organizer)
    for item in study.items.select_related("scenario"):
        item.characteristic_form = texts.FORMS.get(item.scenario.category, "")
        item.save()
    reviewers = services.invite(study, names=[one.username for one in experts], actor=organizer)
    right = [
        {key: value != (rng.random() < 0.1) for key, value in (_AS_USUAL | item.verdicts).items()}
        for item in study.items.all()
    ]
    for reviewer, done in zip(reviewers, (12, 7, 3), strict=True):
        _judge(reviewer, right, done=done, rng=rng)
    return study


def _judge(reviewer: Reviewer, right: Sequence[dict[str, bool]], *, done: int, rng: random.Random) -> None:
    rows = []
    for item in list(reviewer.study.items.all())[: done + 1]:
        answers: dict[str, bool | None] = {
            key: value != (rng.random() < 0.09) for key, value in right[item.number - 1].items()
        }
        if item.number > done:  # the one they were at when they left
            answers |= dict.fromkeys(KEYS[2:])
        comment = rng.choice(texts.REMARKS) if rng.random() < 0.3 else ""
        rows.append(Judgement(reviewer=reviewer, item=item, comment=comment, **answers))
    Judgement.objects.bulk_create(rows)


def _survey(phase: Phase, *, organizer: User, people: Sequence[User], rng: random.Random) -> Study:
    """Ten scenarios, rated by all but one of the people, of whom one has left some out."""
    study = services.draw_realism_study(phase, size=10, seed=_SEED, actor=organizer)
    reviewers = services.invite(study, names=[one.username for one in people], actor=organizer)
    items = list(study.items.all())
    liked = [rng.choice((-0.7, 0.0, 0.0, 0.7)) for _ in items]
    for place, reviewer in enumerate(reviewers[:-1]):
        role, years, familiarity = texts.BACKGROUNDS[place % len(texts.BACKGROUNDS)]
        services.save_background(reviewer, role=role, years=years, familiarity=familiarity)
        lean = (0.4, -0.2, 0.1, -0.4)[place % 4]
        Rating.objects.bulk_create(
            Rating(
                reviewer=reviewer,
                item=item,
                value=min(3, max(1, round(2.1 + like + lean + rng.uniform(-0.6, 0.6)))),
                comment=rng.choice(texts.OPINIONS) if rng.random() < 0.15 else "",
            )
            for item, like in list(zip(items, liked, strict=True))[: 6 if place == 1 else None]
        )
    return study
