"""Static files under names that hold their digest, and under their own where nobody has collected them."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """A page is never lost because `collectstatic` has not run: tests and a first start read the files in place."""

    def stored_name(self, name: str) -> str:
        """The collected name, or the plain one."""
        try:
            collected: str = super().stored_name(name)
        except ValueError:
            return name
        return collected
