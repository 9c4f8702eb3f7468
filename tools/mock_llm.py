#!/usr/bin/env python3
"""A small model service for trying gptr without a key: the chat-completions wire, streamed or not. Standard library only.

    mock_llm.py [--port 0] [--port-file F] [--script FILE.json]

Any key will do, and none. It listens on 127.0.0.1, prints its port (and writes it to F) once it listens, and runs until SIGTERM or SIGINT.

Without a script the reply follows from the last line of the last user message that is a command:

    echo:TEXT          TEXT
    call NAME {json}   that tool call (several lines: parallel calls); after its result: "done: " and the result
    delay MS COMMAND   waits MS milliseconds before the first byte, then COMMAND
    fault hang COMMAND the first piece of COMMAND's text, then silence until the client leaves
    anything else      ok

A script is a JSON list of replies, or {"replies": [...]}; request k gets reply k, and the last one is repeated. A reply
is a string or an object with "text", "tools" ([{"name", "input"}]), "delay_ms" (before the first byte), "gap_ms" (between
the pieces of a text), "hang", or "status" and "error".
"""
import argparse
import json
import os
import re
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 16  # characters a delta


def text_of(content):
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(p.get("text", "") for p in content or [] if isinstance(p, dict))


def obey(command):
    """The reply for one command line, or None when the line is none."""
    if command.startswith("echo:"):
        return {"text": command[5:]}
    if m := re.match(r"call (\S+)(?: (\{.*\}))?$", command):
        try:
            return {"tools": [{"name": m[1], "input": json.loads(m[2] or "{}")}]}
        except ValueError:
            return None
    if m := re.match(r"delay (\d+) (.*)$", command):
        return {**(obey(m[2]) or {"text": m[2]}), "delay_ms": int(m[1])}
    if m := re.match(r"fault hang (.*)$", command):
        return {**(obey(m[1]) or {"text": m[1]}), "hang": True}
    return None


def improvise(messages):
    """The reply to a conversation, when there is no script."""
    if messages[-1].get("role") == "tool":
        return {"text": "done: " + text_of(messages[-1].get("content"))}
    users = [m for m in messages if m.get("role") == "user"]
    lines = text_of(users[-1].get("content")).splitlines() if users else []
    replies = [r for r in (obey(line.strip()) for line in lines) if r]
    if not replies:
        return {"text": "ok"}
    if all("tools" in r for r in replies):
        return {**replies[-1], "tools": [t for r in replies for t in r["tools"]]}
    return replies[-1]


def refusal(body):
    """Why the service would refuse this request, or None."""
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        return "'messages' must be a list of messages, and not empty"
    open_calls = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                return "a 'tool' message must answer a preceding tool call"
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return "tool calls without an answer: " + ", ".join(open_calls)
        open_calls += [c.get("id") for c in message.get("tool_calls") or []]
    return "tool calls without an answer: " + ", ".join(open_calls) if open_calls else None


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port, replies):
        super().__init__(("127.0.0.1", port), Handler)
        self.replies, self.count, self.lock = replies, 0, threading.Lock()

    def next_reply(self, messages):
        with self.lock:
            self.count += 1
            if not self.replies:
                return self.count, improvise(messages)
            reply = self.replies[min(self.count, len(self.replies)) - 1]
        return self.count, {"text": reply} if isinstance(reply, str) else reply


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def fail(self, status, message):
        self.send(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def do_GET(self):
        if self.path == "/v1/models":
            return self.send(200, {"object": "list", "data": [{"id": "mock-1", "object": "model"}]})
        return self.fail(404, "no such path: " + self.path)

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path != "/v1/chat/completions":
            return self.fail(404, "no such path: " + self.path)
        try:
            body = json.loads(raw)
        except ValueError:
            return self.fail(400, "the body is not valid JSON")
        if problem := refusal(body):
            return self.fail(400, problem)
        number, reply = self.server.next_reply(body["messages"])
        time.sleep(reply.get("delay_ms", 0) / 1000)
        if "status" in reply:
            return self.fail(reply["status"], reply.get("error", "scripted failure"))
        calls = [{"id": f"call_{number}_{i}", "type": "function",
                  "function": {"name": t["name"], "arguments": json.dumps(t.get("input", {}))}}
                 for i, t in enumerate(reply.get("tools", []), 1)]
        text = reply.get("text", "")
        tokens = {"prompt_tokens": len(raw) // 4, "completion_tokens": (len(text) + len(json.dumps(calls))) // 4}
        head = {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": body.get("model", "mock-1")}
        finish = "tool_calls" if calls else "stop"
        usage = {**tokens, "total_tokens": sum(tokens.values())}
        try:
            if body.get("stream"):
                self.stream(head, text, calls, finish, usage, reply)
            else:
                message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
                choice = {"index": 0, "message": message, "finish_reason": finish}
                self.send(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client left

    def stream(self, head, text, calls, finish, usage, reply):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

        def event(**fields):
            data = {**head, "object": "chat.completion.chunk", **fields}
            self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()

        def delta(value, finish_reason=None):
            event(choices=[{"index": 0, "delta": value, "finish_reason": finish_reason}])

        delta({"role": "assistant", "content": ""})
        for start in range(0, len(text), PIECE):
            delta({"content": text[start:start + PIECE]})
            time.sleep(reply.get("gap_ms", 0) / 1000)
            if reply.get("hang"):
                self.rfile.read(1)  # ends when the client closes the connection
                return
        for i, call in enumerate(calls):
            arguments = call["function"]["arguments"]
            half = len(arguments) // 2
            delta({"tool_calls": [{"index": i, **call, "function": {"name": call["function"]["name"], "arguments": ""}}]})
            for part in (arguments[:half], arguments[half:]):
                delta({"tool_calls": [{"index": i, "function": {"arguments": part}}]})
        delta({}, finish)
        event(choices=[], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")


def main():
    parser = argparse.ArgumentParser(description="A small model service: the chat-completions wire.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--script")
    parser.add_argument("--no-auth", action="store_true", help="changes nothing: no key is ever asked for")
    options = parser.parse_args()
    replies = []
    if options.script:
        with open(options.script, encoding="utf-8") as file:
            script = json.load(file)
        replies = script["replies"] if isinstance(script, dict) else script
    server = Service(options.port, replies)
    port = server.server_address[1]
    if options.port_file:
        with open(options.port_file + ".part", "w", encoding="utf-8") as file:
            file.write(f"{port}\n")
        os.replace(options.port_file + ".part", options.port_file)  # whole, or not there
    print(port, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
