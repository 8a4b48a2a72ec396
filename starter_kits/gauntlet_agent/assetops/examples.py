"""In-context examples of the agents' prompts, switched on and off by one setting (A47)."""

from __future__ import annotations

from typing import Final

from gauntlet_agent.assetops.roster import FMSR, IOT, TSFM, WO

SUB_AGENT: Final = {
    IOT: """Request: Download the tonnage of Chiller 4 at MAIN for the first week of May 2021.
Call sensors(site_name="MAIN", assetnum="Chiller 4") -> ["Tonnage", "Power Input", ...]
Call history(site_name="MAIN", assetnum="Chiller 4", start="2021-05-01", final="2021-05-07", sensors=["Tonnage"])
-> {"total_observations": 672, "file_path": "/tmp/h1.json", ...}
Final: {"text": "672 readings of the tonnage of Chiller 4 are in /tmp/h1.json.", "file_path": "/tmp/h1.json",
"total_observations": 672}""",
    FMSR: """Request: Which sensors of a chiller tell of condenser fouling?
Call get_failure_mode_sensor_mapping(asset_name="Chiller", failure_modes=["Condenser water side fouling"]) -> rows
Final: {"text": "Three sensors tell of it.", "failure_mode": "Condenser water side fouling", "sensors": ["..."]}""",
    TSFM: """Request: Forecast the tonnage from the file /tmp/h1.json for the next day.
Call tsfmmodels() -> [{"model_id": "m1", "model_checkpoint": "m1", ...}]
Call tsfm_forecasting(dataset_path="/tmp/h1.json", model_checkpoint="m1", timestamp_column="timestamp",
target_columns=["Tonnage"], horizon=96) -> {"results_file": "/tmp/f1.json", ...}
Final: {"text": "The forecast is in /tmp/f1.json.", "result_file": "/tmp/f1.json"}""",
    WO: """Request: How many corrective work orders had the pump P1 in 2019?
Code:
import pandas as pd
orders = pd.read_csv("/app/data/work_orders.csv", dtype=str, keep_default_na=False)
mine = orders[(orders.equipment_id == "P1") & (orders.preventive.str.upper() == "FALSE")]
print(len(mine[mine.finished.str[:4] == "2019"]))
Output: 4
Final: {"text": "4 corrective work orders.", "work_orders": 4}""",
}

SUPERVISOR: Final = """Question: Which failure modes of Chiller 4 at MAIN can be seen with its recorded sensors?
{"thought": "First the recorded sensors.", "action": "THINK-ACT", "agent": "IoTAgent",
"request": "List the recorded sensors of Chiller 4 at MAIN."}
Observation: {"sensors": ["Tonnage", "Power Input"]}
{"thought": "Now which failure modes they tell of.", "action": "THINK-ACT", "agent": "FMSRAgent",
"request": "Report the failure modes of Chiller 4 that at least one of the recorded sensors tells of."}
Observation: {"failure_modes": ["Compressor overheating"]}
{"thought": "That is all.", "action": "FINISH", "answer": "Compressor overheating.",
"data": {"failure_modes": ["Compressor overheating"]}}"""

PLANNER: Final = """Question: Which failure modes of Chiller 4 at MAIN can be seen with its recorded sensors?
#Task1: List the recorded sensors of Chiller 4 at MAIN.
#Agent1: IoTAgent
#Dependency1: None
#ExpectedOutput1: The names of the recorded sensors
#Task2: Map the failure modes of Chiller 4 to the sensors that tell of them.
#Agent2: FMSRAgent
#Dependency2: None
#ExpectedOutput2: Pairs of failure mode and sensor
#Task3: Report the failure modes that at least one of the recorded sensors tells of.
#Agent3: FMSRAgent
#Dependency3: #S1, #S2
#ExpectedOutput3: The failure modes"""
