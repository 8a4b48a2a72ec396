"""The failure codes: 68 primary ones in ten categories, with 137 secondary ones below them.

A code is written ``letters + number``, its secondary codes add a letter: ME03 and ME03a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class PrimaryCode:
    """What a work order did (preventive) or what had failed; ``classes`` are the kinds of equipment it happens to."""

    code: str
    description: str
    category: str
    component: str
    weight: int
    details: tuple[str, ...]

    @property
    def preventive(self) -> bool:
        """Whether the code stands for planned work."""
        return self.code.startswith("PM")


#: Category: letters and one line a code: description | component | weight | details.
_SOURCE: Final = {
    ("Planned maintenance", "PM"): """
        Routine inspection | entire machine | 40 | monthly round; seasonal round; yearly round
        Oil sampling | compressor | 9 | routine sample; follow-up sample
        Vibration survey | motor | 8 | bearings; coupling
        Lubrication | motor | 8 | bearings; linkage
        Filter change | filter | 7 | air filter; oil filter
        Tube cleaning | heat exchanger | 5 | brushed; chemical
        Sensor calibration | controls | 5 | temperature; pressure
        Belt adjustment | drive | 4 | tension; alignment
        Leak check | refrigerant circuit | 5 | sniffer; pressure hold
        Water treatment | water side | 4 | inhibitor dosing; biocide dosing
        Electrical tightening | electrical | 3 | terminals; contactors
        Thermal imaging | electrical | 3 | panel; motor
        Safety test | controls | 3 | cut-out; relief valve
        Start-up service | entire machine | 3 | spring; after standstill""",
    ("Mechanical", "ME"): """
        Bearing worn | motor | 6 | drive end; free end
        Shaft misaligned | drive | 4 | coupling side; fan side
        Compressor damaged | compressor | 3 | scroll; impeller
        Vibration excessive | motor | 5 | unbalance; looseness
        Belt broken | drive | 4 | single belt; belt set
        Seal leaking | shaft seal | 5 | face worn; elastomer cracked
        Valve jammed | water side | 4 | isolation valve; control valve
        Impeller eroded | impeller | 2 | vane tips; hub
        Gear worn | drive | 1 | pinion; wheel
        Machine overhauled | entire machine | 1 | partial; complete""",
    ("Electrical", "EL"): """
        Overload trip | motor | 5 | single; repeated
        Insulation failed | motor | 2 | winding; cable
        Contactor burnt | electrical | 3 | main; auxiliary
        Phase lost | electrical | 2 | supply; terminal
        Drive faulted | frequency drive | 4 | over-temperature; earth fault
        Voltage low | electrical | 2 | start; running
        Fuse blown | electrical | 2 | control; power
        Winding hot | motor | 2 | blocked cooling; overload""",
    ("Refrigerant", "RF"): """
        Refrigerant leak | refrigerant circuit | 6 | valve stem; flange
        Charge low | refrigerant circuit | 6 | topped up; recharged
        Air in circuit | purge unit | 3 | after repair; through seal
        Expansion valve faulty | expansion valve | 3 | stuck open; stuck closed
        Oil in evaporator | evaporator | 2 | return blocked; overfilled
        Drier saturated | refrigerant circuit | 2 | moisture; debris
        Surge | compressor | 2 | low load; high lift""",
    ("Water side", "WS"): """
        Condenser fouled | condenser | 6 | scale; algae
        Evaporator fouled | evaporator | 4 | scale; sludge
        Flow too low | water side | 5 | strainer blocked; pump weak
        Tube leaking | heat exchanger | 2 | end plate; mid span
        Tower basin dirty | basin | 3 | sediment; growth
        Nozzles blocked | spray system | 3 | scale; debris
        Make-up water high | basin | 2 | float valve; bleed valve
        Pipe leaking | water side | 2 | joint; corrosion""",
    ("Air side", "AS"): """
        Filter clogged | filter | 6 | dust; pollen
        Damper stuck | damper | 4 | outside air; return air
        Coil dirty | coil | 4 | cooling coil; heating coil
        Fan unbalanced | fan | 3 | dirt; lost weight
        Duct leaking | duct | 2 | joint; access door
        Drain blocked | drain pan | 2 | slime; debris""",
    ("Controls", "CT"): """
        Controller faulty | controls | 4 | board; power supply
        Setpoint not reached | controls | 5 | tuning; capacity
        Unit cycling | controls | 4 | short load; dead band
        Communication lost | controls | 3 | network; address
        Program wrong | controls | 2 | schedule; sequence
        Actuator failed | actuator | 4 | motor; linkage""",
    ("Instruments", "IN"): """
        Sensor drifted | sensor | 5 | temperature; pressure
        Sensor failed | sensor | 4 | open circuit; short circuit
        Flow meter faulty | flow meter | 3 | fouled; electronics
        Switch faulty | switch | 2 | flow switch; pressure switch
        Power meter faulty | power meter | 1 | transformer; electronics""",
    ("Structure", "ST"): """
        Corrosion found | casing | 2 | surface; through wall
        Mounting loose | frame | 2 | bolts; isolators""",
    ("Operation", "OP"): """
        Operated wrongly | entire machine | 2 | manual override; wrong mode
        Outside influence | entire machine | 1 | weather; power cut""",
}


def _read() -> tuple[PrimaryCode, ...]:
    codes = []
    for (category, letters), lines in _SOURCE.items():
        for number, line in enumerate(lines.strip().splitlines(), start=1):
            description, component, weight, details = (part.strip() for part in line.split("|"))
            parts = tuple(part.strip() for part in details.split(";"))
            codes.append(
                PrimaryCode(f"{letters}{number:02d}", description, category, component, int(weight), parts),
            )
    return tuple(codes)


CODES: Final = _read()
BY_CODE: Final = {one.code: one for one in CODES}
