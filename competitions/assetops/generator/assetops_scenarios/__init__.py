"""Questions about industrial assets, their reference solutions and their answers, made from a site's records."""
