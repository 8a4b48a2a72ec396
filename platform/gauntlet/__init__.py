"""The Gauntlet platform: a Django project."""

from importlib.metadata import version

__version__ = version("gauntlet-platform")
