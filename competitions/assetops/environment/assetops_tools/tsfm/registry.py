"""The tasks and models that there are.

``holt_winters``, ``theta`` and ``seasonal_naive`` run anywhere. The pretrained ones are those of granite-tsfm: they
need that package and their weights, which this repository does not carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from assetops_tools.errors import BadArgument

STEPS_A_DAY: Final = 96
SEASONAL_NAIVE: Final = "seasonal_naive"
HOLT_WINTERS: Final = "holt_winters"
THETA: Final = "theta"
TASKS: Final = (
    {"task_id": "tsfm_forecasting", "task_description": "Forecasting of one or several columns of a file of readings"},
    {
        "task_id": "tsfm_forecasting_finetune",
        "task_description": "Fine-tuning of a forecasting model on a file of readings",
    },
    {
        "task_id": "tsfm_integrated_tsad",
        "task_description": "Anomaly detection by forecasts with conformal intervals, while the equipment operates",
    },
)


@dataclass(frozen=True)
class Model:
    """A model; ``context_length`` is how many steps of 15 minutes it wants to see, and the least that it takes."""

    checkpoint: str
    description: str
    context_length: int
    horizon: int
    tunable: bool
    detects: bool
    pretrained: bool = False

    def row(self) -> dict[str, Any]:
        """The model as it is listed."""
        return {
            "model_checkpoint": self.checkpoint,
            "model_description": self.description,
            "context_length": self.context_length,
            "longest_horizon": self.horizon,
            "finetuning": self.tunable,
            "anomaly_detection": self.detects,
            "needs_weights": self.pretrained,
        }


MODELS: Final = (
    Model(
        SEASONAL_NAIVE,
        "Every step as it was one day before; the yardstick of the others",
        context_length=STEPS_A_DAY,
        horizon=7 * STEPS_A_DAY,
        tunable=False,
        detects=True,
    ),
    Model(
        HOLT_WINTERS,
        "Exponential smoothing of level and daily season, with fixed smoothing or fine-tuned on an asset's history",
        context_length=2 * STEPS_A_DAY,
        horizon=7 * STEPS_A_DAY,
        tunable=True,
        detects=True,
    ),
    Model(
        THETA,
        "The theta method on the series without its daily season",
        context_length=3 * STEPS_A_DAY,
        horizon=7 * STEPS_A_DAY,
        tunable=True,
        detects=False,
    ),
    *(
        Model(
            f"granite_ttm_{context}_96",
            f"Pretrained tiny time mixer of granite-tsfm, context {context}, horizon 96",
            context_length=context,
            horizon=STEPS_A_DAY,
            tunable=False,
            detects=False,
            pretrained=True,
        )
        for context in (512, 1024, 1536)
    ),
)


def model_of(name: str) -> Model:
    """The model of that name.

    Raises:
        BadArgument: there is none.
    """
    found = next((one for one in MODELS if one.checkpoint == name.casefold()), None)
    if found is None:
        names = ", ".join(one.checkpoint for one in MODELS)
        raise BadArgument(f"There is no model {name!r:.80}; there is {names}, and what fine-tuning has saved here.")
    return found
