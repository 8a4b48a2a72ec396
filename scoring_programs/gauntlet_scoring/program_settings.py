"""Whether the settings of a program can be used, told before anything is scored."""

from __future__ import annotations

from gauntlet_scoring import bertscore
from gauntlet_scoring.execution.scoring import parts_of
from gauntlet_scoring.hybrid import usable
from gauntlet_scoring.program_metadata import ProgramMetadata


def check_settings(metadata: ProgramMetadata) -> None:
    """Check the settings of one of our own programs; of another nothing is known.

    Raises:
        ScoringInputError: a setting cannot be used, such as a composite's part on another scale; the text names it.
    """
    if metadata.name == "execution":
        parts_of(metadata)
    elif metadata.name == "hybrid":
        usable(metadata, {})
    elif metadata.name == "bertscore":
        bertscore.Settings.read(metadata.settings, {})
