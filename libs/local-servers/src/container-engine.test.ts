import assert from "node:assert/strict";
import { test } from "node:test";

import { findContainerEngine } from "./container-engine.ts";
import type { CommandResult, RunCommand } from "./run-command.ts";
import { SERVER_KINDS } from "./server-kinds.ts";

const OK: CommandResult = { code: 0, stdout: "", stderr: "" };

function refused(stderr: string): CommandResult {
  return { code: 1, stdout: "", stderr };
}

/** Answers `docker info` and the like from a table, and records each command with its limit. */
function engines(answers: Record<string, CommandResult>): { run: RunCommand; asked: string[] } {
  const asked: string[] = [];
  const run: RunCommand = async (command, args, { timeoutMs }) => {
    const line = [command, ...args].join(" ");
    asked.push(`${line} (${timeoutMs / 1000} s)`);
    return answers[line] ?? { code: null, stdout: "", stderr: `spawn ${command} ENOENT` };
  };
  return { run, asked };
}

const CONTEXT = "docker context inspect --format {{.Endpoints.docker.Host}}";

const search = { kind: SERVER_KINDS.nats, env: {}, log: () => {} };

test("takes docker when its daemon answers and the image is there, without pulling", async () => {
  const { run, asked } = engines({
    "docker info": OK,
    "docker image inspect nats:2.15-alpine": OK,
  });
  assert.deepEqual(await findContainerEngine({ ...search, run }), {
    engine: "docker",
    image: "nats:2.15-alpine",
  });
  assert.deepEqual(asked, [
    "docker info (2 s)",
    `${CONTEXT} (2 s)`,
    "docker image inspect nats:2.15-alpine (2 s)",
  ]);
});

test("pulls a missing image for at most a minute and reports it", async () => {
  const { run, asked } = engines({
    "docker info": OK,
    "docker image inspect nats:2.15-alpine": refused("no such image"),
    "docker pull --quiet nats:2.15-alpine": OK,
  });
  const lines: string[] = [];
  const found = await findContainerEngine({
    ...search,
    run,
    log: (line) => void lines.push(line),
  });
  assert.deepEqual(found, { engine: "docker", image: "nats:2.15-alpine" });
  assert.equal(asked.at(-1), "docker pull --quiet nats:2.15-alpine (60 s)");
  assert.deepEqual(lines, ["nats: pulling the image nats:2.15-alpine with docker"]);
});

test("continues with podman when docker's daemon does not answer", async () => {
  const { run } = engines({
    "docker info": refused("Cannot connect to the Docker daemon"),
    "podman info": OK,
    "podman image inspect redis:7-alpine": OK,
  });
  const found = await findContainerEngine({ ...search, kind: SERVER_KINDS.redis, run });
  assert.deepEqual(found, { engine: "podman", image: "redis:7-alpine" });
});

test("reports why no engine can be used", async () => {
  const { run } = engines({
    "docker info": OK,
    "docker image inspect nats:2.15-alpine": refused("no such image"),
    "docker pull --quiet nats:2.15-alpine": {
      code: null,
      stdout: "",
      stderr: "no answer within 60 s",
    },
  });
  assert.deepEqual(await findContainerEngine({ ...search, run }), {
    reason:
      "docker cannot pull nats:2.15-alpine (no answer within 60 s); podman does not answer (spawn podman ENOENT)",
  });
});

test("passes over a docker daemon on another machine: data and ports would be there", async () => {
  const searchOn = async (host: string) => {
    const { run } = engines({
      "docker info": OK,
      [CONTEXT]: { ...OK, stdout: `${host}\n` },
      "docker image inspect nats:2.15-alpine": OK,
    });
    return findContainerEngine({ kind: SERVER_KINDS.nats, env: {}, log: () => {}, run });
  };
  for (const host of ["ssh://someone@build.example:22", "tcp://10.0.0.7:2376"]) {
    const found = await searchOn(host);
    assert.ok("reason" in found);
    assert.match(found.reason, /^docker's daemon is on another machine \((ssh|tcp):\/\/[a-z0-9.]+/);
    assert.doesNotMatch(found.reason, /someone/);
  }
  const here = ["unix:///run/docker.sock", "npipe:////./pipe/x", "tcp://127.0.0.1:2375"];
  for (const host of [...here, "tcp://localhost:2375", "tcp://[::1]:2375", ""]) {
    assert.deepEqual(await searchOn(host), { engine: "docker", image: "nats:2.15-alpine" });
  }
});
