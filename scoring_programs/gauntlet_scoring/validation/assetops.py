"""The AssetOps domain: its four agents and the tools of their servers, and how real files spell them.

Agents: paper 000, section 3; tools: the competition's environment (competitions/assetops/environment). Which of two
spellings is the right one is decided in docs/decisions/0017-ground-truth.md.
"""

from __future__ import annotations

from typing import Final

from gauntlet_scoring.validation.vocabulary import Agent, Tool, Vocabulary


def _tool(required: str = "", optional: str = "", *, infers: bool = False, changes: bool = False) -> Tool:
    return Tool(required=tuple(required.split()), optional=tuple(optional.split()), infers=infers, changes=changes)


_FORECAST: Final = "dataset_path model_checkpoint timestamp_column target_columns"
_PERIOD: Final = "equipment_id start end"

_IOT: Final = {
    "sites": _tool(),
    "assets": _tool("site_name"),
    "sensors": _tool("site_name assetnum"),
    "history": _tool("site_name assetnum start", "final sensors"),
    "get_asset": _tool("assetnum"),
    "asset_sensors": _tool("assetnum"),
    "registry_assets": _tool("", "site_name"),
}
_FMSR: Final = {
    "get_failure_modes": _tool("asset_name"),
    "get_failure_mode_sensor_mapping": _tool("asset_name", "failure_modes sensors"),
    "read_sensors_from_file": _tool("file_name"),
}
_TSFM: Final = {
    "aitasks": _tool(),
    "tsfmmodels": _tool(),
    "tsfm_forecasting": _tool(_FORECAST, "horizon", infers=True),
    "tsfm_forecasting_finetune": _tool(_FORECAST, "horizon", infers=True),
    "tsfm_integrated_tsad": _tool("dataset_path timestamp_column target_columns", "model_checkpoint", infers=True),
}
_WO: Final = {
    "list_workorders": _tool("", f"{_PERIOD} kind primary_code limit offset"),
    "get_workorder": _tool("wo_id"),
    "count_workorders": _tool("", f"{_PERIOD} kind primary_code group_by"),
    "list_events": _tool("", f"{_PERIOD} group limit offset"),
    "daily_event_counts": _tool(_PERIOD, "groups"),
    "list_alerts": _tool("", f"{_PERIOD} rule_id limit offset"),
    "list_anomalies": _tool("", f"{_PERIOD} kpi limit offset"),
    "get_failure_codes": _tool("", "text"),
    "get_alert_rules": _tool("", "equipment_id"),
    "get_alert_rule_mapping": _tool("", "rule_id"),
    "get_anomaly_mapping": _tool("", "kpi"),
    "list_equipment": _tool(),
    "recommend_workorder": _tool("equipment_id primary_code reason", changes=True),
    "run_wo_code": _tool("code"),
}
_UTILITIES: Final = {
    "jsonreader": _tool("file_name", "limit offset"),
    "currentdatetime": _tool(),
    "current_time_english": _tool(),
}

ASSETOPS: Final = Vocabulary(
    agents={
        "IoTAgent": Agent(type="IoT", server="iot", tools=_IOT),
        "FMSRAgent": Agent(type="FMSR", server="fmsr", tools=_FMSR),
        "TSFMAgent": Agent(type="TSFM", server="tsfm", tools=_TSFM),
        "WOAgent": Agent(type="WO", server="wo", tools=_WO),
    },
    shared={"utilities": _UTILITIES},
    agent_aliases={
        **dict.fromkeys(("IoT", "IOTAgent", "iot_agent"), "IoTAgent"),
        **dict.fromkeys(("FMSAAgent", "FMSA", "FMSR", "fmsr_agent"), "FMSRAgent"),
        **dict.fromkeys(("TSFM", "tsfm_agent"), "TSFMAgent"),
        **dict.fromkeys(("WorkorderAgent", "WorkOrderAgent", "Workorder", "WO", "wo_agent"), "WOAgent"),
    },
    type_aliases={
        **dict.fromkeys(("IoTAgent", "IOT"), "IoT"),
        **dict.fromkeys(("FMSA", "FMSRAgent", "FMSAAgent"), "FMSR"),
        "TSFMAgent": "TSFM",
        **dict.fromkeys(("Workorder", "WorkOrder", "Work Order", "WOAgent"), "WO"),
        **dict.fromkeys(("multi-agent", "multi_agent", "MultiAgent", "end-to-end", "E2E"), "multiagent"),
        **dict.fromkeys(("multimcp", "multi_mcp", "MultiMCP"), "multi-mcp"),
    },
    action_aliases={
        "Get Failure Modes": "get_failure_modes",
        "Get Failure Mode and Sensor Relevancy Mapping": "get_failure_mode_sensor_mapping",
        "Read Sensors From File": "read_sensors_from_file",
        **dict.fromkeys(("json_reader", "JSONReader"), "jsonreader"),
        **dict.fromkeys(("current_date_time", "CurrentDateTime"), "currentdatetime"),
        **dict.fromkeys(("get_ai_tasks", "AITasks"), "aitasks"),
        **dict.fromkeys(("get_tsfm_models", "TSFMModels"), "tsfmmodels"),
        **dict.fromkeys(("run_tsfm_forecasting", "tsfm forecasting"), "tsfm_forecasting"),
        **dict.fromkeys(
            ("run_tsfm_finetuning", "tsfm forecasting finetune", "tsfm_forecasting finetune"),
            "tsfm_forecasting_finetune",
        ),
        **dict.fromkeys(("run_integrated_tsad", "tsfm integrated tsad"), "tsfm_integrated_tsad"),
    },
)
"""What a ground truth of the AssetOps competition may name."""
