"""The tests of mock_llm.py. The last line is "N passed, N failed"."""
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

MOCK = Path(__file__).with_name("mock_llm.py")


class Mock:
    """A running service; `script` is its replies."""

    def __init__(self, script=None):
        args = [sys.executable, str(MOCK)]
        if script is not None:
            self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
            json.dump(script, self.file)
            self.file.flush()
            args += ["--script", self.file.name]
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}/v1/chat/completions"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def post(self, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, data=data), timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ask(self, text, **more):
        return self.post({"model": "mock-1", "messages": [{"role": "user", "content": text}], **more})


def message(answer):
    return json.loads(answer[1])["choices"][0]["message"]


def events(answer):
    return [line[6:] for line in answer[1].split("\n\n") if line]


def echo_comes_back_whole():
    with Mock() as mock:
        assert message(mock.ask("around\necho:hi there"))["content"] == "hi there"


def a_stream_is_the_text_in_pieces_then_usage_then_done():
    with Mock() as mock:
        got = events(mock.ask("echo:" + "x" * 40, stream=True))
        chunks = [json.loads(e) for e in got[:-1]]
        assert got[-1] == "[DONE]"
        assert [len(c["choices"][0]["delta"].get("content", "")) for c in chunks[:-1]] == [0, 16, 16, 8, 0]
        assert chunks[-2]["choices"][0]["finish_reason"] == "stop"
        assert chunks[-1]["usage"]["total_tokens"] > 0


def a_call_goes_out_and_its_result_is_said():
    with Mock() as mock:
        call = message(mock.ask('call add {"a": 1}'))["tool_calls"][0]
        assert call["function"] == {"name": "add", "arguments": '{"a": 1}'}
        answer = mock.post({"messages": [
            {"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "3"}]})
        assert message(answer)["content"] == "done: 3"


def streamed_arguments_add_up():
    with Mock() as mock:
        chunks = [json.loads(e) for e in events(mock.ask('call add {"a": 1}', stream=True))[:-1]]
        parts = [t["function"].get("arguments", "") for c in chunks if c["choices"]
                 for t in c["choices"][0]["delta"].get("tool_calls", [])]
        assert json.loads("".join(parts)) == {"a": 1}


def a_script_is_played_in_order_and_its_last_reply_repeats():
    with Mock(["one", {"tools": [{"name": "f", "input": {}}]}, {"status": 429, "error": "slow down"}]) as mock:
        assert message(mock.ask("x"))["content"] == "one"
        assert message(mock.ask("x"))["tool_calls"][0]["function"]["name"] == "f"
        assert mock.ask("x")[0] == 429
        assert mock.ask("x")[0] == 429


def bad_requests_are_refused():
    with Mock() as mock:
        assert mock.post(b"{")[0] == 400
        assert mock.post({"messages": []})[0] == 400
        unanswered = {"role": "assistant", "tool_calls": [{"id": "c1"}]}
        assert mock.post({"messages": [unanswered, {"role": "user", "content": "x"}]})[0] == 400
        assert mock.post({"messages": [{"role": "tool", "tool_call_id": "c9", "content": ""}]})[0] == 400


CASES = [echo_comes_back_whole, a_stream_is_the_text_in_pieces_then_usage_then_done,
         a_call_goes_out_and_its_result_is_said, streamed_arguments_add_up,
         a_script_is_played_in_order_and_its_last_reply_repeats, bad_requests_are_refused]


def main():
    failed = 0
    for case in CASES:
        try:
            case()
            print("ok  ", case.__name__)
        except Exception as error:  # a case may fail in any way; the others still run
            failed += 1
            print("FAIL", case.__name__, repr(error))
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
