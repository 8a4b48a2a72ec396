"""Puts the starter kits into the wheel, where `gauntlet init` finds them. Everything else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")


class BuildWithStarters(build_py):
    """The usual build, and a copy of every folder beside this file that holds an agent."""

    def run(self) -> None:
        """Build; an editable installation reads the folders where they are."""
        super().run()
        if self.editable_mode:
            return
        for manifest in sorted(HERE.glob("*/agent.yaml")):
            target = Path(self.build_lib) / "gauntlet_agent" / "starters" / manifest.parent.name
            shutil.copytree(manifest.parent, target, ignore=LEFT_OUT, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithStarters})
