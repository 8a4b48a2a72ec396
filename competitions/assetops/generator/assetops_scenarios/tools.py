"""What the templates know of the environment's tools: whose they are, and which arguments say what is asked about.

From the tools' published contract, not from their code. The reference solutions and the checks are written with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Tool:
    """A tool: the argument that names a machine, those that say which data are meant, whether results are exact."""

    machine: str | None = None
    looked_at: tuple[str, ...] = ()
    exact: bool = True


_PERIOD: Final = ("start", "end")
_COLUMNS: Final = ("dataset_path", "target_columns")
TOOLS: Final = {
    "sites": Tool(),
    "assets": Tool(looked_at=("site_name",)),
    "sensors": Tool("assetnum"),
    # The end of a history may be said as a day or as a moment, so only its start is compared.
    "history": Tool("assetnum", ("start",)),
    "get_asset": Tool("assetnum"),
    "asset_sensors": Tool("assetnum"),
    "registry_assets": Tool(),
    "jsonreader": Tool(),
    "currentdatetime": Tool(exact=False),
    "current_time_english": Tool(exact=False),
    "get_failure_modes": Tool("asset_name"),
    "get_failure_mode_sensor_mapping": Tool("asset_name"),
    "read_sensors_from_file": Tool(),
    "aitasks": Tool(),
    "tsfmmodels": Tool(),
    "tsfm_forecasting": Tool(looked_at=_COLUMNS, exact=False),
    "tsfm_forecasting_finetune": Tool(looked_at=_COLUMNS, exact=False),
    "tsfm_integrated_tsad": Tool(looked_at=_COLUMNS, exact=False),
    "list_workorders": Tool("equipment_id", _PERIOD),
    "get_workorder": Tool(looked_at=("wo_id",)),
    "count_workorders": Tool("equipment_id", _PERIOD),
    "list_events": Tool("equipment_id", _PERIOD),
    "daily_event_counts": Tool("equipment_id", _PERIOD),
    "list_alerts": Tool("equipment_id", _PERIOD),
    "list_anomalies": Tool("equipment_id", _PERIOD),
    "get_failure_codes": Tool(),
    "get_alert_rules": Tool(),
    "get_alert_rule_mapping": Tool(),
    "get_anomaly_mapping": Tool(),
    "list_equipment": Tool(),
    "recommend_workorder": Tool("equipment_id", exact=False),
    "run_wo_code": Tool(exact=False),
}

AGENTS: Final = {
    "IoTAgent": (
        "Knows the sites and their assets, which sensors an asset has and which of them are recorded, and fetches "
        "recorded readings of a time window into a file."
    ),
    "FMSRAgent": "Knows the failure modes of asset classes and which sensors tell of which failure mode.",
    "TSFMAgent": (
        "Knows time-series models: lists tasks and models, forecasts columns of a data file, fine-tunes a forecasting "
        "model on it, and detects anomalies in it."
    ),
    "WOAgent": (
        "Knows work orders, the event log, alerts, anomalies of performance indicators, failure codes, monitoring "
        "rules and what they point to; can run Python over these records and can recommend a work order."
    ),
}

DISTRACTORS: Final = {
    "EchoAgent": "Repeats what it is told.",
    "OffTopicAgent": "Answers with facts that nobody asked for.",
    "CustomerSupportAgent": "Helps with passwords, log-ins and availability of services.",
    "SREAgent": "Looks into slow or failing computer infrastructure.",
    "FrontendDevAgent": "Helps with user interfaces and their faults.",
    "HRPolicyAgent": "Answers questions about leave, benefits and rules at work.",
    "SensorDataSummarizer": "Summarises series of sensor readings.",
    "HistoricalTrendsAgent": "Finds patterns in the past for failure analysis.",
    "EdgeMLAgent": "Recommends how to run models on small hardware.",
    "RULPredictorAgent": "Estimates the remaining useful life from signs of wear.",
}
