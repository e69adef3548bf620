"""A server that needs nothing but Python: `python -I -S line_server.py [dies|noisy]`."""

import sys


def main(manner: str) -> None:
    import json  # noqa: PLC0415 - a server that only dies starts sooner

    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        result: object = {}
        if method == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "line", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": [{"name": "run_command", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            if manner == "dies":
                sys.exit(3)
            size = int(message["params"]["arguments"].get("size", 1))
            result = {"content": [{"type": "text", "text": "x" * size}]}
        if number is not None:
            if manner == "noisy":
                sys.stdout.write("a line that is no message\n")
            answer = {"jsonrpc": "2.0", "id": number, "result": result}
            sys.stdout.write(f"{json.dumps(answer)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main("".join(sys.argv[1:]))
