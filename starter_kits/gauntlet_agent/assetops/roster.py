"""Who works on an AssetOps question: the four agents, the tools that each may use, and those that belong to nobody.

The tool table is that of the AssetOpsBench paper (Table 4) with the work-order tools of this platform's environment.
What an episode really offers comes from the gateway; a tool that is not in this table belongs to no agent, which keeps
distractor agents (A46 of the requirements) out of everybody's hands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gauntlet_agent.tools import Tool

IOT: Final = "IoTAgent"
FMSR: Final = "FMSRAgent"
TSFM: Final = "TSFMAgent"
WO: Final = "WOAgent"
CODE_TOOL: Final = "run_wo_code"
UTILITIES: Final = frozenset({"jsonreader", "currentdatetime", "current_time_english"})


@dataclass(frozen=True)
class Agent:
    """One agent as its parent knows it.

    Attributes:
        name: as plans and ground truth write it
        does: a sentence for a language model that chooses between agents
        tools: names of its own server's tools; the utilities come on top
    """

    name: str
    does: str
    tools: frozenset[str]


AGENTS: Final[Mapping[str, Agent]] = {
    agent.name: agent
    for agent in (
        Agent(
            IOT,
            "Knows sites, assets and sensors, and downloads sensor readings of a period into a file.",
            frozenset({"sites", "assets", "sensors", "history", "get_asset", "asset_sensors", "registry_assets"}),
        ),
        Agent(
            FMSR,
            "Knows the failure modes of assets, and which sensors tell of which failure mode.",
            frozenset({"get_failure_modes", "get_failure_mode_sensor_mapping", "read_sensors_from_file"}),
        ),
        Agent(
            TSFM,
            "Knows time-series models; forecasts, fine-tunes and finds anomalies in a file of readings.",
            frozenset(
                {"aitasks", "tsfmmodels", "tsfm_forecasting", "tsfm_forecasting_finetune", "tsfm_integrated_tsad"}
            ),
        ),
        Agent(
            WO,
            "Reads work orders, events, alerts, anomalies, failure codes and alert rules of equipment; counts, "
            "groups and compares them, and recommends work orders.",
            frozenset(
                {
                    *("list_workorders", "get_workorder", "count_workorders", "list_events", "daily_event_counts"),
                    *("list_alerts", "list_anomalies", "get_failure_codes", "get_alert_rules"),
                    *("get_alert_rule_mapping", "get_anomaly_mapping", "list_equipment", "recommend_workorder"),
                    CODE_TOOL,
                }
            ),
        ),
    )
}
_ALIASES: Final = {
    **{name.casefold(): name for name in AGENTS},
    "iot": IOT,
    "fmsr": FMSR,
    "fmsa": FMSR,
    "tsfm": TSFM,
    "wo": WO,
    "workorder": WO,
    "workorderagent": WO,
    "iotdatadownload": IOT,
    "iotdatadownloadagent": IOT,
    "failuremodeandsensorrelevancyexpert": FMSR,
    "timeseriesanalyticsandforecasting": TSFM,
    "fmsaagent": FMSR,
}


def agent_named(written: str) -> str | None:
    """The agent that is meant by a name as models write it; None for nobody's."""
    plain = "".join(letter for letter in written.casefold() if letter.isalnum())
    return _ALIASES.get(plain)


def tools_of(agent: str, offered: Iterable[Tool]) -> dict[str, Tool]:
    """The offered tools that an agent may use, by name."""
    allowed = AGENTS[agent].tools | UTILITIES
    return {tool.name: tool for tool in offered if tool.name in allowed}
