"""The pretrained tiny time mixers of granite-tsfm: read where package and weights are, and refused in a sentence else.

``ASSETOPS_TSFM_WEIGHTS`` names a folder with one folder a model, as ``save_pretrained`` of the package leaves it
(config.json and the weights). Nothing is fetched from anywhere.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from assetops_tools.errors import BadArgument
from assetops_tools.tsfm.registry import Model
from assetops_tools.tsfm.series import Numbers, Times

WEIGHTS: Final = "ASSETOPS_TSFM_WEIGHTS"
_INSTEAD: Final = "holt_winters, theta and seasonal_naive run without."


def pretrained_forecast(model: Model, times: Times, values: Numbers, horizon: int) -> Numbers:
    """The next ``horizon`` steps by a pretrained model, from its whole context.

    Raises:
        BadArgument: the package or the weights are not here, or the forecast is longer than the model makes.
    """
    if horizon > model.horizon:
        raise BadArgument(f"{model.checkpoint} looks {model.horizon} steps ahead; {horizon} were asked for.")
    folder = weights_of(model)
    pipeline = _pipeline(model, folder)
    import pandas as pd

    context = pd.DataFrame({"timestamp": times, "value": values}).tail(model.context_length)
    found = pipeline(context)
    ahead = np.asarray(found["value_prediction"].iloc[-1], dtype=np.float64).reshape(-1)
    return ahead[:horizon]


def weights_of(model: Model) -> Path:
    """The folder with a model's weights.

    Raises:
        BadArgument: there is none.
    """
    root = os.environ.get(WEIGHTS, "")
    folder = Path(root) / model.checkpoint
    if not root or not (folder / "config.json").is_file():
        raise BadArgument(
            f"The weights of {model.checkpoint} are not here: {WEIGHTS} has to name a folder that holds "
            f"{model.checkpoint}/config.json. {_INSTEAD}"
        )
    return folder


def _pipeline(model: Model, folder: Path) -> Any:
    try:
        toolkit = importlib.import_module("tsfm_public")
        mixer = importlib.import_module("tsfm_public.models.tinytimemixer")
    except ImportError:
        raise BadArgument(
            f"{model.checkpoint} needs the package granite-tsfm, which is not installed here. {_INSTEAD}"
        ) from None
    try:
        loaded = mixer.TinyTimeMixerForPrediction.from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise BadArgument(f"The weights of {model.checkpoint} cannot be read: {str(error)[:200]}") from error
    return toolkit.TimeSeriesForecastingPipeline(
        loaded,
        timestamp_column="timestamp",
        id_columns=[],
        target_columns=["value"],
        freq="15min",
        explode_forecasts=False,
        device="cpu",
    )
