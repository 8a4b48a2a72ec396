"""Made-up competitions for a development database, so that every page can be looked at in every state.

Rows are written directly and in bulk: nothing here runs an agent, and no page can tell.
"""

from gauntlet.web.showcase.build import PASSWORD, Showcase, build

__all__ = ["PASSWORD", "Showcase", "build"]
