"""``python -m gauntlet_runtime.remote``: the same as `gauntlet-worker`."""

from __future__ import annotations

import sys

from gauntlet_runtime.remote.command import main

sys.exit(main())
