"""An MCP environment in the standard library only, which starts at once; its tools misbehave when they are told to."""

import json
import os
import sys
import threading
import time
from pathlib import Path

STATE = {"scenario": None, "seed": None, "calls": 0, "resets": 0}
WRITING = threading.Lock()
TOOLS = ["sites", "echo", "large", "fail", "slow", "die", "nonsense", "deep", "error", "run_code", "deaf"]
TOOLS += ["strange", "asks"]
RESERVED = ["gauntlet_reset", "gauntlet_user", "gauntlet_state"]


class Refused(Exception):
    """A tool's error by a code of the environment's own choice."""


def write(message):
    with WRITING:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def text(value, *, error=False):
    return {"content": [{"type": "text", "text": value}], "isError": error}


def structured(value):
    return {**text(json.dumps(value)), "structuredContent": value}


STRANGE_STATES = {
    "half-a-character": text('{"name": "\\ud83d"}'),
    "deep-state": text("[" * 100_000 + "]" * 100_000),
    "deepish-state": text("[" * 900 + "]" * 900),
    "words-for-blocks": {"content": ["done"]},
    "endless-number": text('{"level": NaN, "limit": 1e999}'),
    "long-number": text("9" * 5000),
}


def reserved(name, arguments):
    scenario = STATE["scenario"]
    if name == "gauntlet_reset":
        if arguments["scenario"] == "cannot-reset":
            return text("no such scenario", error=True)
        if arguments["scenario"] == "dies-in-reset":
            os._exit(3)
        if arguments["scenario"] == "slow-reset":
            time.sleep(3)
        if "more-tools" in (arguments["scenario"], STATE["scenario"]):
            TOOLS[:] = [name for name in TOOLS if name != "only_here"]
            TOOLS.extend(["only_here"] if arguments["scenario"] == "more-tools" else [])
            write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        STATE.update(scenario=arguments["scenario"], seed=arguments["seed"], calls=0, resets=STATE["resets"] + 1)
        return structured({"ok": True})
    if name == "gauntlet_user":
        return structured({"reply": f"you said: {arguments['message']}", "done": arguments["message"] == "bye"})
    if scenario == "dies-in-state":
        os._exit(3)
    if scenario in STRANGE_STATES:
        return STRANGE_STATES[scenario]
    return structured(dict(STATE))


def call(name, arguments):
    if name in RESERVED:
        return reserved(name, arguments)
    STATE["calls"] += 1
    match name:
        case "sites":
            data = Path("/app/data/sites.json")
            return structured({"sites": json.loads(data.read_text()) if data.exists() else ["main"]})
        case "echo":
            return structured({"text": arguments.get("text", "")})
        case "large":
            return text("x" * int(arguments["bytes"]))
        case "fail":
            return text("the pump is broken", error=True)
        case "slow":
            time.sleep(float(arguments["seconds"]))
            return text("done")
        case "die":
            os._exit(3)
        case "nonsense":
            sys.stdout.write("this is no JSON-RPC\n")
            sys.stdout.flush()
        case "deaf":
            return text("what?")
        case "strange":
            return {**text("done"), "_meta": [1]}
        case "asks":
            for number in range(int(arguments["times"])):
                write({"jsonrpc": "2.0", "id": f"ask-{number}", "method": "ping"})
            return text("asked")
        case "error" if "code" in arguments:
            raise Refused(arguments["code"])
        case "deep":
            return structured({"a": [{"b": [1, 2.5, None, True, "\u2028"]}]})
    raise KeyError(name)


def answer(request):
    method, params = request["method"], request.get("params", {})
    try:
        if method == "initialize":
            capabilities = {"tools": {}}
            info = {"name": "plant", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info}
        elif method == "tools/list":
            if "--fickle" in sys.argv:
                write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            names = [*TOOLS, *(name for name in RESERVED if "--no-user" not in sys.argv or name != "gauntlet_user")]
            schema = "none" if "--bad-tools" in sys.argv else {"type": "object"}
            result = {"tools": [{"name": n, "description": n, "inputSchema": schema} for n in names]}
        else:
            result = call(params["name"], params.get("arguments", {}))
    except KeyError as error:
        write({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": f"bad call: {error}"}})
    except Refused as error:
        write({"jsonrpc": "2.0", "id": request["id"], "error": {"code": error.args[0], "message": "no such pump"}})
    else:
        write({"jsonrpc": "2.0", "id": request["id"], "result": result})


if "--dead" in sys.argv:
    sys.exit("this environment never starts")
for line in sys.stdin:
    message = json.loads(line)
    if message.get("params", {}).get("name") == "deaf":
        answer(message)
        time.sleep(1000)  # and reads nothing any more
    if "id" in message and "method" in message:  # what has none answers a question of ours
        threading.Thread(target=answer, args=(message,)).start()
