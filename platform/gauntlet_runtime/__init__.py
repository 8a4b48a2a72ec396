"""Everything that happens on a worker, given folders and limits. No Django here, no torch."""
