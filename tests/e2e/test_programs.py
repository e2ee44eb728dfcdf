"""Programs in several languages behind `ccwire run`: they use the proxy and trust it."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e.isolated_run import (
    check_filed_under_the_run,
    check_no_file_has_the_key,
    isolated_run,
)

URL = "https://api.anthropic.com/v1/messages"
BODY = (
    '{"model": "claude-opus-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}'
)

PYTHON = """
import os, sys, urllib.request
headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
request = urllib.request.Request(sys.argv[1], sys.argv[2].encode(), headers)
print(urllib.request.urlopen(request).status)
"""
CURL = 'curl -sS -o answer -w "%{http_code}\\n" -H "x-api-key: $ANTHROPIC_API_KEY" "$0" -d "$1"'
NODE = """
const [url, body] = process.argv.slice(1);
const headers = { "content-type": "application/json", "x-api-key": process.env.ANTHROPIC_API_KEY };
fetch(url, { method: "POST", body, headers }).then((answer) => console.log(answer.status));
"""
JAVA = """
import java.net.*;
import java.net.http.*;
class App {
    public static void main(String[] given) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(given[0]))
            .header("content-type", "application/json")
            .header("x-api-key", System.getenv("ANTHROPIC_API_KEY"))
            .POST(HttpRequest.BodyPublishers.ofString(given[1])).build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode());
    }
}
"""


@pytest.mark.parametrize("program", ["python", "curl", "node", "java"])
def test_a_program_is_captured_and_filed_under_the_run(program: str, tmp_path: Path) -> None:
    if program != "python" and shutil.which(program, path="/usr/bin:/bin") is None:
        pytest.skip(f"{program} is not installed")
    (tmp_path / "App.java").write_text(JAVA)
    start = {
        "python": [sys.executable, "-c", PYTHON],
        "curl": ["sh", "-c", CURL],
        "node": ["node", "-e", NODE],
        "java": ["java", "App.java"],
    }[program]
    run = isolated_run(tmp_path, *start, URL, BODY)
    assert run.stdout == "200\n", run.stderr
    check_filed_under_the_run(run, 1)
    check_no_file_has_the_key(tmp_path)
