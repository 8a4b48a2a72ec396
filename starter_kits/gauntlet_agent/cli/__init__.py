"""The `gauntlet` command."""


def main() -> None:
    """Entry point of the installed command; everything else is imported from here on."""
    from gauntlet_agent.cli.app import main as run_command

    run_command()
