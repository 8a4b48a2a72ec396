"""The tools of an AssetOps site: five servers over one data folder."""
