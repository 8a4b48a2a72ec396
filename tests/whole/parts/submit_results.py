"""What the platform's web host does, as a program of its own: imports a competition and takes uploads to it.

    python submit_results.py BUNDLE SLUG COUNT

Prints the submissions' ids, one a line. The bucket and the competition are made where they are missing.
"""

from __future__ import annotations

import io
import sys
import zipfile
from itertools import cycle
from pathlib import Path

PEOPLE = ("ada", "ben", "cleo")


def main(bundle: str, slug: str, count: str) -> None:
    """Take that many uploads, of everybody in turn."""
    import django

    django.setup()
    from django.core.files.base import ContentFile

    from gauntlet.accounts.models import User
    from gauntlet.competitions.models import Competition
    from gauntlet.competitions.services import import_bundle, join
    from gauntlet.submissions.services import receive

    competition = Competition.objects.filter(slug=slug).first()
    if competition is None:
        make_bucket()
        organizer = User.objects.create(username="organizer", email="organizer@example.org")
        competition = import_bundle(Path(bundle), organizer=organizer, slug=slug, publish=True)
        for name in PEOPLE:
            join(competition, user=User.objects.create(username=name, email=f"{name}@example.org"), terms_accepted=True)
    phase = competition.phases.get()
    people = list(User.objects.filter(username__in=PEOPLE).order_by("username"))
    for number, person in zip(range(int(count)), cycle(people), strict=False):
        upload = ContentFile(results(f"{number} of {count}"))
        print(receive(phase=phase, participant=person, upload=upload, file_name="results.zip").pk)  # noqa: T201


def make_bucket() -> None:
    """On storage that is new."""
    from django.core.files.storage import default_storage

    default_storage.connection.create_bucket(Bucket=default_storage.bucket_name)  # type: ignore[attr-defined]


def results(mark: str) -> bytes:
    """A zip unlike any other."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("said.txt", mark)
    return out.getvalue()


if __name__ == "__main__":
    main(*sys.argv[1:])
