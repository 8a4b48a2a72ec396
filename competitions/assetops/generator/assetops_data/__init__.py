"""The records of an AssetOps site: invented from a seed, or imported from the public sample data."""

from assetops_data.public import import_public
from assetops_data.site import Injected, Machine, Site, Size, Stretch, write_site

__all__ = ["Injected", "Machine", "Site", "Size", "Stretch", "import_public", "write_site"]
