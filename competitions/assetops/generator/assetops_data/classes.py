"""The kinds of equipment: their sensors, failure modes and what tells of them, their codes and alert rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CHILLER: Final = "Chiller"
AIR_HANDLER: Final = "Air Handling Unit"


@dataclass(frozen=True)
class Sensor:
    """A measured quantity of a kind of equipment.

    ``installed`` says that the asset registry lists it, ``measured`` that the historian records it. They differ: a
    calculated quantity is in no registry, and some instruments were mounted and never wired.
    """

    name: str
    unit: str
    kind: str
    installed: bool
    measured: bool
    tags: str


@dataclass(frozen=True)
class FailureMode:
    """A way to fail, and the sensors whose readings tell of it."""

    name: str
    sensors: tuple[str, ...]


@dataclass(frozen=True)
class AssetClass:
    """What is common to all equipment of one kind."""

    name: str
    prefix: str
    sensors: tuple[Sensor, ...]
    modes: tuple[FailureMode, ...]
    codes: tuple[str, ...]  # corrective codes that happen to it
    planned: tuple[str, ...]  # preventive codes of its maintenance plan
    rules: tuple[tuple[str, str, str, float, str], ...]  # description, sensor, operator, threshold, primary codes


def _sensors(text: str) -> tuple[Sensor, ...]:
    """One line a sensor: name | unit | kind | I (installed), M (measured) or IM | tags."""
    found = []
    for line in text.strip().splitlines():
        name, unit, kind, where, tags = (part.strip() for part in line.split("|"))
        found.append(Sensor(name, unit, kind, "I" in where, "M" in where, tags))
    return tuple(found)


def _modes(text: str) -> tuple[FailureMode, ...]:
    """One line a mode: name | sensors, separated by semicolons."""
    found = []
    for line in text.strip().splitlines():
        name, sensors = (part.strip() for part in line.split("|"))
        found.append(FailureMode(name, tuple(part.strip() for part in sensors.split(";"))))
    return tuple(found)


def _rules(text: str) -> tuple[tuple[str, str, str, float, str], ...]:
    found = []
    for line in text.strip().splitlines():
        description, sensor, operator, threshold, codes = (part.strip() for part in line.split("|"))
        found.append((description, sensor, operator, float(threshold), codes))
    return tuple(found)


CLASSES: Final = (
    AssetClass(
        name=CHILLER,
        prefix="CHL",
        sensors=_sensors("""
            Supply Temperature | degC | temperature | IM | chilled water, leaving
            Return Temperature | degC | temperature | IM | chilled water, entering
            Setpoint Temperature | degC | setpoint | IM | chilled water, leaving
            Power Input | kW | power | IM | compressor, electrical
            Tonnage | ton | load | M | calculated, cooling
            Chiller Efficiency | kW/ton | efficiency | M | calculated, cooling
            Chiller % Loaded | % | load | M | calculated, cooling
            Condenser Water Supply Temperature | degC | temperature | IM | condenser water, entering
            Condenser Water Return To Tower Temperature | degC | temperature | IM | condenser water, leaving
            Condenser Water Flow | l/s | flow | IM | condenser water
            Liquid Refrigerant Evaporator Temperature | degC | temperature | IM | refrigerant, evaporator
            Run Status | on/off | status | M | controls
            Schedule | on/off | status | M | controls
            Oil Pressure | kPa | pressure | I | compressor, oil
            Compressor Vibration | mm/s | vibration | I | compressor
            Motor Winding Temperature | degC | temperature | I | compressor, electrical
            Refrigerant Level | % | level | I | refrigerant"""),
        modes=_modes("""
            Condenser water side fouling | Condenser Water Return To Tower Temperature; Condenser Water Supply Temperature; Chiller Efficiency; Power Input
            Evaporator water side fouling | Supply Temperature; Return Temperature; Liquid Refrigerant Evaporator Temperature; Chiller Efficiency
            Compressor overheating | Power Input; Chiller % Loaded; Motor Winding Temperature; Oil Pressure
            Low refrigerant charge | Liquid Refrigerant Evaporator Temperature; Supply Temperature; Tonnage; Refrigerant Level
            Condenser water flow too low | Condenser Water Flow; Condenser Water Return To Tower Temperature; Power Input
            Motor bearing wear | Compressor Vibration; Power Input; Oil Pressure
            Capacity control failure | Supply Temperature; Setpoint Temperature; Chiller % Loaded; Run Status"""),  # noqa: E501
        codes=("ME01", "ME03", "ME04", "ME07", "EL01", "EL05", "RF01", "RF02", "RF03", "RF04", "RF05", "RF06", "RF07",
               "WS01", "WS02", "WS03", "WS04", "CT01", "CT02", "CT03", "IN01", "IN02", "IN03", "ME10"),
        planned=("PM01", "PM02", "PM03", "PM06", "PM07", "PM09", "PM12", "PM13", "PM14"),
        rules=_rules("""
            supply temperature above setpoint for long | Supply Temperature | > | 9.5 | CT02 RF02
            condenser approach high | Condenser Water Return To Tower Temperature | > | 37 | WS01
            evaporator approach high | Liquid Refrigerant Evaporator Temperature | < | 2.5 | WS02 RF02
            power drawn while off | Power Input | > | 15 | CT01
            condenser water flow low | Condenser Water Flow | < | 40 | WS03
            efficiency poor | Chiller Efficiency | > | 0.95 | WS01
            load low for long | Chiller % Loaded | < | 20 | CT03"""),
    ),
    AssetClass(
        name=AIR_HANDLER,
        prefix="AHU",
        sensors=_sensors("""
            Supply Air Temperature | degC | temperature | IM | air, leaving
            Return Air Temperature | degC | temperature | IM | air, entering
            Mixed Air Temperature | degC | temperature | IM | air
            Outside Air Temperature | degC | temperature | IM | air, weather
            Supply Air Setpoint | degC | setpoint | IM | air, leaving
            Supply Air Flow | m3/s | flow | IM | air
            Supply Fan Power | kW | power | IM | fan, electrical
            Static Pressure | Pa | pressure | IM | air, duct
            Filter Differential Pressure | Pa | pressure | IM | air, filter
            Cooling Coil Valve Position | % | position | M | controls, cooling
            Run Status | on/off | status | M | controls
            Fan Vibration | mm/s | vibration | I | fan
            Carbon Dioxide | ppm | quality | I | air, return"""),
        modes=_modes("""
            Filter clogging | Filter Differential Pressure; Supply Air Flow; Supply Fan Power
            Cooling coil fouling | Supply Air Temperature; Mixed Air Temperature; Cooling Coil Valve Position
            Fan bearing wear | Fan Vibration; Supply Fan Power
            Outside air damper stuck | Mixed Air Temperature; Outside Air Temperature; Return Air Temperature
            Fan belt slipping | Supply Air Flow; Static Pressure; Supply Fan Power"""),
        codes=("AS01", "AS02", "AS03", "AS04", "AS05", "AS06", "ME01", "ME05", "EL01", "CT02", "CT06", "IN01", "IN02"),
        planned=("PM01", "PM04", "PM05", "PM07", "PM08", "PM11"),
        rules=_rules("""
            supply air too warm | Supply Air Temperature | > | 19 | AS03 CT02
            filter pressure high | Filter Differential Pressure | > | 240 | AS01
            air flow low while running | Supply Air Flow | < | 3 | ME05
            static pressure high | Static Pressure | > | 430 | AS02
            fan power high | Supply Fan Power | > | 19 | AS04"""),
    ),
    AssetClass(
        name="Cooling Tower",
        prefix="CTW",
        sensors=_sensors("""
            Basin Temperature | degC | temperature | I | water
            Basin Level | % | level | I | water
            Fan Power | kW | power | I | fan, electrical
            Fan Vibration | mm/s | vibration | I | fan"""),
        modes=_modes("""
            Fill clogging | Basin Temperature; Fan Power
            Spray nozzle blockage | Basin Temperature
            Fan unbalance | Fan Vibration; Fan Power
            Basin leak | Basin Level
            Gearbox wear | Fan Vibration"""),
        codes=("WS05", "WS06", "WS07", "WS08", "AS04", "ME01", "ME09", "EL01", "ST01"),
        planned=("PM01", "PM04", "PM10", "PM03"),
        rules=_rules("""
            basin temperature high | Basin Temperature | > | 33 | WS06
            basin level low | Basin Level | < | 35 | WS07
            fan vibration high | Fan Vibration | > | 7.1 | AS04"""),
    ),
    AssetClass(
        name="Chilled Water Pump",
        prefix="PMP",
        sensors=_sensors("""
            Discharge Pressure | kPa | pressure | I | water
            Suction Pressure | kPa | pressure | I | water
            Motor Power | kW | power | I | electrical
            Motor Temperature | degC | temperature | I | electrical
            Pump Vibration | mm/s | vibration | I | pump"""),
        modes=_modes("""
            Shaft seal leakage | Discharge Pressure; Suction Pressure
            Bearing wear | Pump Vibration; Motor Temperature
            Cavitation | Suction Pressure; Pump Vibration
            Impeller erosion | Discharge Pressure; Motor Power
            Motor winding failure | Motor Temperature; Motor Power"""),
        codes=("ME01", "ME02", "ME04", "ME06", "ME08", "WS03", "WS08", "EL01", "EL02", "EL08"),
        planned=("PM01", "PM03", "PM04", "PM11"),
        rules=_rules("""
            discharge pressure low | Discharge Pressure | < | 280 | WS03 ME08
            pump vibration high | Pump Vibration | > | 4.5 | ME04"""),
    ),
    AssetClass(
        name="Boiler",
        prefix="BLR",
        sensors=_sensors("""
            Water Temperature | degC | temperature | I | water, leaving
            Flue Gas Temperature | degC | temperature | I | combustion
            Steam Pressure | kPa | pressure | I | water
            Gas Flow | m3/h | flow | I | combustion"""),
        modes=_modes("""
            Burner ignition failure | Gas Flow; Flue Gas Temperature
            Tube scaling | Flue Gas Temperature; Water Temperature
            Safety valve leakage | Steam Pressure
            Low water cut-out failure | Steam Pressure; Water Temperature
            Refractory cracking | Flue Gas Temperature
            Flame sensor fouling | Gas Flow"""),
        codes=("WS04", "WS08", "IN02", "IN04", "CT01", "CT02", "ST01", "OP01", "EL07"),
        planned=("PM01", "PM07", "PM10", "PM13"),
        rules=_rules("""
            flue gas too hot | Flue Gas Temperature | > | 260 | WS04
            steam pressure high | Steam Pressure | > | 950 | IN04"""),
    ),
    AssetClass(
        name="Air Compressor",
        prefix="CMP",
        sensors=_sensors("""
            Discharge Temperature | degC | temperature | I | air
            Line Pressure | kPa | pressure | I | air
            Motor Current | A | current | I | electrical
            Oil Temperature | degC | temperature | I | oil"""),
        modes=_modes("""
            Intake filter clogging | Motor Current; Line Pressure
            Oil degradation | Oil Temperature; Discharge Temperature
            Discharge valve leakage | Line Pressure; Discharge Temperature
            Belt slipping | Motor Current; Line Pressure
            Cooler fouling | Discharge Temperature; Oil Temperature"""),
        codes=("ME01", "ME05", "ME06", "ME07", "EL01", "EL03", "AS01", "IN04"),
        planned=("PM01", "PM02", "PM05", "PM08"),
        rules=_rules("""
            discharge temperature high | Discharge Temperature | > | 110 | ME07
            line pressure low | Line Pressure | < | 600 | ME05
            oil temperature high | Oil Temperature | > | 95 | AS01"""),
    ),
    AssetClass(
        name="Transformer",
        prefix="TRF",
        sensors=_sensors("""
            Oil Temperature | degC | temperature | I | oil
            Winding Temperature | degC | temperature | I | electrical
            Load Current | A | current | I | electrical"""),
        modes=_modes("""
            Oil leakage | Oil Temperature
            Winding insulation ageing | Winding Temperature; Load Current
            Tap changer wear | Load Current
            Cooling fan failure | Oil Temperature; Winding Temperature
            Bushing flashover | Load Current"""),
        codes=("EL02", "EL04", "EL06", "EL07", "ST01", "OP02"),
        planned=("PM01", "PM11", "PM12"),
        rules=_rules("""
            winding temperature high | Winding Temperature | > | 120 | EL02
            oil temperature high | Oil Temperature | > | 85 | EL06"""),
    ),
    AssetClass(
        name="Diesel Generator",
        prefix="GEN",
        sensors=_sensors("""
            Coolant Temperature | degC | temperature | I | engine
            Oil Pressure | kPa | pressure | I | engine, oil
            Battery Voltage | V | voltage | I | electrical
            Fuel Level | % | level | I | engine"""),
        modes=_modes("""
            Starting battery failure | Battery Voltage
            Fuel contamination | Fuel Level; Oil Pressure
            Coolant leakage | Coolant Temperature
            Oil pressure loss | Oil Pressure
            Governor hunting | Oil Pressure; Battery Voltage"""),
        codes=("EL06", "EL07", "ME06", "ME10", "CT01", "OP02"),
        planned=("PM01", "PM02", "PM13"),
        rules=_rules("""
            battery voltage low | Battery Voltage | < | 23.5 | EL06
            oil pressure low | Oil Pressure | < | 180 | ME06"""),
    ),
    AssetClass(
        name="Exhaust Fan",
        prefix="EXF",
        sensors=_sensors("""
            Fan Current | A | current | I | electrical
            Fan Vibration | mm/s | vibration | I | fan
            Duct Pressure | Pa | pressure | I | air, duct"""),
        modes=_modes("""
            Belt breakage | Fan Current; Duct Pressure
            Bearing wear | Fan Vibration
            Blade fouling | Fan Vibration; Duct Pressure
            Motor overload | Fan Current
            Backdraft damper stuck | Duct Pressure"""),
        codes=("AS02", "AS04", "ME01", "ME05", "EL01", "EL03", "ST02"),
        planned=("PM01", "PM04", "PM08"),
        rules=_rules("""
            fan vibration high | Fan Vibration | > | 7.1 | AS04 ME01
            fan current high | Fan Current | > | 24 | EL01
            duct pressure low | Duct Pressure | < | 60 | ME05"""),
    ),
    AssetClass(
        name="Heat Exchanger",
        prefix="HEX",
        sensors=_sensors("""
            Primary Outlet Temperature | degC | temperature | I | water
            Secondary Outlet Temperature | degC | temperature | I | water
            Pressure Drop | kPa | pressure | I | water"""),
        modes=_modes("""
            Plate fouling | Pressure Drop; Secondary Outlet Temperature
            Gasket leakage | Pressure Drop
            Plate corrosion | Secondary Outlet Temperature
            Flow maldistribution | Primary Outlet Temperature; Secondary Outlet Temperature
            Control valve sticking | Primary Outlet Temperature"""),
        codes=("WS02", "WS04", "WS08", "ME07", "CT06", "IN01"),
        planned=("PM01", "PM06", "PM10"),
        rules=_rules("""
            pressure drop high | Pressure Drop | > | 55 | WS02
            secondary side too warm | Secondary Outlet Temperature | > | 14 | ME07"""),
    ),
)  # fmt: skip
BY_NAME: Final = {one.name: one for one in CLASSES}
