"""Validation of ground truth: what an organizer is told before a bundle is accepted, on a page, or on a terminal.

Requirements G11 to G19 and G22; docs/ground-truth.md lists every rule, docs/decisions/0017-ground-truth.md says how the
sources' contradictions are read.
"""

from gauntlet_scoring.validation.assetops import ASSETOPS
from gauntlet_scoring.validation.checking import (
    check_file,
    check_text,
    validate_ground_truth,
    validate_ground_truth_file,
)
from gauntlet_scoring.validation.findings import Finding, FindingClass, Level, Report, Strength
from gauntlet_scoring.validation.vocabulary import MCP, OPEN, Vocabulary, read_vocabulary, vocabulary_beside

__all__ = [
    "ASSETOPS",
    "MCP",
    "OPEN",
    "Finding",
    "FindingClass",
    "Level",
    "Report",
    "Strength",
    "Vocabulary",
    "check_file",
    "check_text",
    "read_vocabulary",
    "validate_ground_truth",
    "validate_ground_truth_file",
    "vocabulary_beside",
]
