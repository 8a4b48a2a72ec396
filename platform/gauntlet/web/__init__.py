"""What the pages share: layout, components, static files; and the pages themselves."""
