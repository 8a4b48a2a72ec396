"""What the TSFM agent can do by rules: say what is supported, forecast, fine-tune, and find anomalies in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from gauntlet_agent.assetops.reading import plain, sensors_meant
from gauntlet_agent.assetops.readings import read_file
from gauntlet_agent.assetops.report import Report
from gauntlet_agent.assetops.roster import TSFM
from gauntlet_agent.assetops.skills import RuleAgent, Skill, Unanswerable, Work, names_of, rows_of, said

_MODEL_KEYS: Final = ("model_checkpoint", "checkpoint", "model_id", "name")
_TASK_ASKED: Final = r"whether (.+?) (?:is|are) among|look for ([a-z -]+)\.|is time series (.+?) supported"
_MODEL_ASKED: Final = (
    r"whether (?:the model )?(\S+) is among|is (?:the model )?(\S+) (?:model )?(?:supported|available)"
)
_GENERAL: Final = frozenset({"analysis", "series", "models", "model"})
_TASK_KEYS: Final = ("task_id", "name", "id")
_TIME: Final = "timestamp"
#: What a model's row must say so that a tool can use it, and what the tool's file is called beside others.
_ABLE: Final = {"tsfm_forecasting_finetune": "finetuning", "tsfm_integrated_tsad": "anomaly_detection"}
_FILE_OF: Final = {
    "tsfm_forecasting": "forecast_file",
    "tsfm_forecasting_finetune": "tuning_file",
    "tsfm_integrated_tsad": "anomaly_file",
}


def list_tasks(work: Work) -> Report:
    """Which kinds of time-series analysis are supported, and whether a named one is."""
    answer = work.call("aitasks")
    tasks = names_of(answer, *_TASK_KEYS)
    facts: dict[str, Any] = {"tasks": tasks, "count": len(tasks)}
    wanted = _asked_for(work, _TASK_ASKED)
    if wanted:
        stems = [word[:6] for word in re.findall(r"[a-z]{5,}", wanted.casefold()) if word not in _GENERAL]
        text = plain(str(answer))
        facts["supported"] = facts["task_supported"] = any(stem in text for stem in stems)
        return Report.of(f"{wanted}: {'supported' if facts['supported'] else 'not supported'}.", facts)
    return Report.of(f"{len(tasks)} tasks: {said(tasks)}.", facts)


def list_models(work: Work) -> Report:
    """Which models there are: with a context length, for a purpose, of a family, where one is named."""
    found = rows_of(work.call("tsfmmodels"))
    length = re.search(r"context (?:length|window)\D{0,20}(\d+)", work.reading.words)
    kept = [row for row in found if _context(row) == int(length[1])] if length else found
    wanted = _asked_for(work, _MODEL_ASKED)
    if wanted:
        kept = [row for row in kept if plain(wanted) in plain(_told(row))]
    for purpose in re.findall(r"\b(energy|weather|traffic|vibration)\b", work.reading.words):
        kept = [row for row in kept if purpose in str(row).casefold()]
    names = names_of(kept, *_MODEL_KEYS)
    facts = {"models": names, "count": len(names), "supported": bool(names), "model_available": bool(names)}
    return Report.of(f"{len(names)} models: {said(names)}.", {**facts, "checkpoint": next(iter(names), None)})


def _told(row: Mapping[str, Any]) -> str:
    """What a model is called and described as, without the names of its row's fields."""
    return " ".join(str(value) for value in row.values() if isinstance(value, str))


def _asked_for(work: Work, patterns: str) -> str | None:
    """What the request asks about by name."""
    found = re.search(patterns, work.reading.text, re.IGNORECASE)
    return next((group.strip() for group in found.groups() if group), None) if found else None


def _context(row: Mapping[str, Any]) -> int | None:
    if isinstance(row.get("context_length"), int):
        return int(row["context_length"])
    found = re.search(r"context(?:[ _]length)?\D{0,10}(\d+)|_(\d+)_\d+", str(row))
    return int(next(group for group in found.groups() if group)) if found else None


def forecast(work: Work) -> Report:
    """Forecast columns of a file; the result is a file."""
    return _run(work, "tsfm_forecasting")


def finetune(work: Work) -> Report:
    """Fine-tune a model on a file; the result is a file."""
    return _run(work, "tsfm_forecasting_finetune")


def anomalies(work: Work) -> Report:
    """Find anomalies in columns of a file; the result is a file."""
    return _run(work, "tsfm_integrated_tsad")


def _run(work: Work, tool: str) -> Report:
    path = _file(work)
    columns = _columns(work, path)
    check_operation(work, path, columns)
    arguments: dict[str, Any] = {
        "dataset_path": path,
        "timestamp_column": work.known.get("timestamp_column") or _TIME,
        "target_columns": columns,
    }
    properties = work.desk.tools[tool].input_schema.get("properties", {}) if tool in work.desk.tools else {}
    if "model_checkpoint" in properties:
        arguments["model_checkpoint"] = _checkpoint(work, tool)
    horizon = _horizon(work)
    if horizon is not None and "horizon" in properties:
        arguments["horizon"] = horizon
    answer = work.call(tool, **arguments)
    details = dict(answer) if isinstance(answer, Mapping) else {"result": answer}
    result = next((details[key] for key in ("results_file", "result_file", "file_path") if details.get(key)), None)
    facts = {**details, "result_file": result, "file": result, "target_columns": columns, "column": columns[0]}
    facts |= {_FILE_OF[tool]: result, "sensor": columns[0]}
    return Report.of(f"{tool} of {said(columns)}: {_line(details)}", facts, summary="`result_file` names the results.")


def _file(work: Work) -> str:
    """The file of readings: named, known, or asked for.

    Raises:
        Unanswerable: nobody knows one.
    """
    path = next(iter(work.reading.files), None) or work.known.get("file_path")
    if not path:
        told = work.desk.ask("Which file holds the readings?") or ""
        path = next(iter(re.findall(r"[\w./-]+\.(?:csv|json)", told)), None)
    if not path:
        raise Unanswerable("It is not known which file holds the readings.", "Download them first; name the file.")
    return str(path)


def check_operation(work: Work, path: str, columns: list[str]) -> None:
    """Refuse readings of a machine that stood still all the time (A11): they say nothing about its operation.

    Raises:
        Unanswerable: every reading of a column is zero, or there is none.
    """
    if not work.desk.has("jsonreader"):
        return
    readings = read_file(work, path)
    for column in columns:
        values = [value for _, value in readings.values(column)]
        if readings.whole and not any(values):
            raise Unanswerable(f"{column} was 0 at every one of {len(values)} readings: the data are insufficient.")


def _columns(work: Work, path: str) -> list[str]:
    """The columns that are meant: those that are named, else those that were downloaded."""
    known = [str(name) for name in work.known.get("sensors") or []]
    named = [name for name in work.reading.quoted if "." not in name]
    if known:
        return sensors_meant(work.reading.text, known, work.reading.assets) or known
    if named:
        return [part.strip() for part in named[0].split(",")]
    columns = read_file(work, path).sensors
    return sensors_meant(work.reading.text, columns, work.reading.assets) or columns


def _checkpoint(work: Work, tool: str) -> str:
    """The model that is named, else one that can do it here: without weights that may be missing, and adaptable."""
    models = rows_of(work.call("tsfmmodels"))
    names = names_of(models, *_MODEL_KEYS)
    named = work.reading.one_of(names)
    if named is not None:
        return named
    able = [row for row in models if row.get(_ABLE.get(tool, ""), True) and not row.get("needs_weights")]
    best = sorted(able, key=lambda row: not row.get("finetuning", False))
    chosen = next(iter(names_of(best, *_MODEL_KEYS)), None)
    if chosen is None:
        raise Unanswerable("There is no model that can do it.")
    return chosen


def _horizon(work: Work) -> int | None:
    """How many steps of a quarter of an hour ahead; None where nothing is said."""
    found = re.search(r"\bnext (?:(\d+|two|three) )?(day|week|hour|step|reading)s?\b|\b(\d+) steps? ahead\b|"
                      r"\bhorizon\D{0,6}(\d+)",
                      work.reading.words)  # fmt: skip
    if found is None:
        return None
    if found[3] or found[4]:
        return int(found[3] or found[4])
    number = {"two": 2, "three": 3}.get(found[1] or "", 0) or int(found[1] or 1)
    return number * {"day": 96, "week": 672, "hour": 4, "step": 1, "reading": 1}[found[2]]


def _line(values: Mapping[str, Any]) -> str:
    return (
        ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in values.items() if not isinstance(value, list | dict)
        )[:600]
        + "."
    )


SKILLS: Final = (
    Skill("finetune", r"\bfine-?tun\w*|\btune a model\b", finetune, unless=r"\bsupported\b|^(?:list|report|find)\b"),
    Skill("models", r"^(?:list|find|report)\b.*\bmodels?\b|\bcontext length\b|\bcheckpoints?\b|"
          r"\bmodels? .*\bavailable\b|\bis the model\b", list_models, unless=r"\bdetect\b|\btasks\b"),
    Skill("tasks", r"\btasks?\b|\btypes? of\b.*\banalysis\b|\bsupport(?:ed|s)?\b|\bkinds? of\b", list_tasks),
    Skill("anomalies", r"\banomal\w*\b|\boutliers?\b", anomalies),
    Skill("forecast", r"\bforecast\w*\b|\bpredict\w*\b|\bproject\w*\b", forecast),
)  # fmt: skip


def tsfm_agent() -> RuleAgent:
    """The TSFM agent by rules."""
    return RuleAgent(TSFM, SKILLS)
