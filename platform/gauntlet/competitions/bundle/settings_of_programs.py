"""A built-in scoring program with settings of the competition's own, such as which planning score a hybrid takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import yaml

from gauntlet.competitions.bundle.document import Section, Value
from gauntlet.competitions.bundle.files import BundleFiles
from gauntlet.competitions.bundle.findings import suggestion
from gauntlet.competitions.bundle.plan import ProgramPlan
from gauntlet_scoring.errors import ScoringInputError
from gauntlet_scoring.program_metadata import METADATA_FILES, read_program_metadata


def with_settings(value: Value, program: ProgramPlan, files: BundleFiles) -> ProgramPlan:
    """The program as the bundle sets it: a copy whose metadata holds the settings.

    A setting that the program does not have, or cannot use, is a finding.
    """
    from gauntlet_scoring.program_settings import check_settings  # here: no idle process needs the measures

    metadata = read_program_metadata(program.folder)
    given = _given(Section(value), known=sorted(metadata.settings))
    configured = metadata.model_copy(update={"settings": {**metadata.settings, **given}})
    try:
        check_settings(configured)
    except ScoringInputError as error:
        value.findings.error(value.place, f"{error}.")
        return program
    folder = files.copy_of(program.folder)
    path = folder / METADATA_FILES[0]
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    text = yaml.safe_dump({**content, "settings": configured.settings}, sort_keys=False, allow_unicode=True)
    path.write_text(text, encoding="utf-8")
    return replace(program, folder=folder)


def _given(section: Section, *, known: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for name in section.names():
        setting = section.get(name)
        if name not in known:
            message = f"the program has no setting '{name[:60]}'.{suggestion(name, known)}"
            section.findings.error(section.where(name), message, allowed=known)
        elif setting is None or setting.scalar is None:
            section.findings.error(section.where(name), "must be one text or number.")
        else:
            given[name] = setting.scalar
    section.close()
    return given
