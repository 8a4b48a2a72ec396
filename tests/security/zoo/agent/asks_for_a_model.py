#: attacks: agent
#: why: Asks for a language model where the competition offers none, and for the key of one.
#: expect:
#:   state: finished
#:   episodes:
#:     - outcome: answered
#:   kernel: {exit_code: 0}
#:   scores: {right: 1.0}
#:   said:
#:     - [503, no_models]
#:     - [503, no_models]
#:     - [503, no_models]
#:     - []
from door import *

episode = next_episode()
body = {"model": "any", "messages": [{"role": "user", "content": "What is six times seven?"}]}
say(code_of(ask("POST", "/llm/v1/chat/completions", body)))
say(code_of(ask("POST", f"/episodes/{episode['id']}/llm/v1/chat/completions", body)))
say(code_of(ask("GET", "/llm/v1/models")))
say([name for name in os.environ if "KEY" in name or "TOKEN" in name or "SECRET" in name])
answer(episode)
