"""How well the recorded execution and plan fit the reference's: actions, graph, arguments, and how they fail."""
