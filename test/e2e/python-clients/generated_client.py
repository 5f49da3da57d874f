"""A client that openapi-python-client makes of openapi.json (BASE, TOKEN) starts a run, follows it to its end and reads it."""

import contextlib
import os
import sys
import tempfile
import urllib.request
from pathlib import Path

from openapi_python_client import Config, generate
from openapi_python_client.config import ConfigFile, MetaType

BASE, TOKEN = os.environ["BASE"], os.environ["TOKEN"]
# Its answer is application/x-ndjson, which the generator does not know.
LEFT_OUT = "/audit/export"

with tempfile.TemporaryDirectory() as directory:
    document = Path(directory) / "openapi.json"
    document.write_bytes(urllib.request.urlopen(BASE + "/api/v1/openapi.json").read())
    config = Config.from_sources(
        ConfigFile(post_hooks=[]),
        MetaType.NONE,
        document_source=document,
        file_encoding="utf-8",
        overwrite=False,
        output_path=Path(directory) / "switchyard_api",
    )
    with contextlib.redirect_stdout(sys.stderr):
        problems = [str(problem.header) for problem in generate(config=config)]
    assert all(LEFT_OUT in problem for problem in problems), problems
    sys.path.insert(0, directory)
    from switchyard_api import AuthenticatedClient
    from switchyard_api.api.runs import follow_run, get_run, start_run
    from switchyard_api.models import StartRunBody

    client = AuthenticatedClient(base_url=BASE + "/api/v1", token=TOKEN)
    started = start_run.sync(client=client, body=StartRunBody(agent="helper", input_="hello"))
    events = follow_run.sync_detailed(started.run_id, client=client).content.decode()
    assert "event: finished" in events, events
    shown = get_run.sync(started.run_id, client=client).run
    assert "The tool said: This is a simple text" in shown.output, shown
    refused = start_run.sync(client=client, body=StartRunBody(agent="no-such", input_="hello"))
    assert refused.code == "unknown_agent", refused
print("ok")
