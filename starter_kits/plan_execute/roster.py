"""Who executes the steps of a plan. Put an agent of your own here: an object with `name` and `work(request, desk)`."""

from gauntlet_agent.assetops import Settings, SubAgent, Workplace, sub_agents


def team(settings: Settings, place: Workplace) -> dict[str, SubAgent]:
    """The agents by name."""
    return sub_agents(settings, place.models)
