"""The zoo's environment: an MCP server of the standard library, with a secret that no tool tells."""

import json
import sys
import threading
import time

TOOLS = ["multiply", "echo", "large", "slow"]
RESERVED = ["gauntlet_reset", "gauntlet_user", "gauntlet_state"]
WRITING = threading.Lock()


def write(message):
    with WRITING:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def text(value):
    return {"content": [{"type": "text", "text": value}], "isError": False}


def call(name, arguments):
    match name:
        case "gauntlet_reset" | "gauntlet_state":
            return {**text("{}"), "structuredContent": {"ok": True}}
        case "gauntlet_user":
            return {**text("{}"), "structuredContent": {"reply": "Go on.", "done": False}}
        case "multiply":
            return text(str(int(arguments["a"]) * int(arguments["b"])))
        case "echo":
            return text(str(arguments.get("text", "")))
        case "large":
            return text("x" * int(arguments["bytes"]))
        case "slow":
            time.sleep(float(arguments["seconds"]))
            return text("done")
    raise KeyError(name)


def answer(request):
    method, params = request["method"], request.get("params", {})
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        if method == "initialize":
            info = {"name": "zoo", "version": "1"}
            version = params["protocolVersion"]
            reply["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            names = [*TOOLS, *RESERVED]
            tools = [{"name": n, "description": n, "inputSchema": {"type": "object"}} for n in names]
            reply["result"] = {"tools": tools}
        else:
            reply["result"] = call(params["name"], params.get("arguments", {}))
    except (KeyError, ValueError, TypeError) as error:
        reply["error"] = {"code": -32602, "message": f"bad call: {error}"}
    write(reply)


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        threading.Thread(target=answer, args=(message,)).start()
