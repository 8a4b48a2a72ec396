"""The words of the invented plant: failure codes, monitoring rules, indicators, sensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Code:
    """A failure code: ``kind`` is preventive or corrective, ``weight`` how often it is used."""

    code: str
    description: str
    category: str
    kind: str
    component: str
    weight: int
    details: tuple[str, str]


CODES: Final = (
    Code("PM01", "Routine inspection", "Maintenance", "preventive", "entire system", 30, ("Monthly", "Seasonal")),
    Code("PM02", "Oil sampling", "Maintenance", "preventive", "compressor", 9, ("Routine sample", "Follow-up sample")),
    Code("PM03", "Vibration survey", "Maintenance", "preventive", "motor", 8, ("Bearings", "Coupling")),
    Code("PM04", "Lubrication", "Maintenance", "preventive", "motor", 7, ("Bearings", "Linkage")),
    Code("PM05", "Filter change", "Maintenance", "preventive", "air side", 6, ("Air filter", "Oil filter")),
    Code("PM06", "Tube cleaning", "Maintenance", "preventive", "condenser", 4, ("Brushed", "Chemical")),
    Code("PM07", "Sensor calibration", "Maintenance", "preventive", "controls", 4, ("Temperature", "Pressure")),
    Code("CM01", "Refrigerant leak", "Mechanical failure", "corrective", "refrigerant circuit", 9, ("Valve", "Flange")),
    Code("CM02", "Refrigerant added", "Mechanical failure", "corrective", "refrigerant circuit", 8, ("Small", "Large")),
    Code("CM03", "Bearing replaced", "Mechanical failure", "corrective", "motor", 3, ("Drive end", "Free end")),
    Code("CM04", "Condenser fouled", "Process failure", "corrective", "condenser", 5, ("Scale", "Algae")),
    Code("CM05", "Controller fault", "Control failure", "corrective", "controls", 6, ("Software", "Board")),
    Code("CM06", "Sensor failed", "Control failure", "corrective", "controls", 4, ("Temperature", "Flow")),
    Code("CM07", "Valve stuck", "Mechanical failure", "corrective", "water side", 4, ("Isolation", "Control")),
    Code("CM08", "Overload trip", "Electrical failure", "corrective", "motor", 3, ("Single", "Repeated")),
)

RULES: Final = {
    "RUL01": "Evaporator approach high",
    "RUL02": "Unit cycling",
    "RUL03": "Load low for long",
    "RUL04": "Power drawn while off",
    "RUL05": "Supply temperature off setpoint",
    "RUL06": "Condenser approach high",
}

INDICATORS: Final = {
    "Cooling Load": 2_600_000.0,
    "Delta Temperature": 8.0,
    "Flow Efficiency": 0.24,
    "Delta Setpoint": 0.5,
}

# Name, usual value, spread, daily swing.
SENSORS: Final = (
    ("Supply Temperature", 6.8, 0.25, 0.6),
    ("Return Temperature", 12.4, 0.4, 1.1),
    ("Power Input", 310.0, 14.0, 90.0),
    ("Condenser Water Flow", 212.0, 5.0, 12.0),
    ("Tonnage", 480.0, 22.0, 140.0),
)
UNRECORDED_SENSORS: Final = ("Oil Pressure", "Motor Winding Temperature", "Refrigerant Level", "Bearing Vibration")
