import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { findContainerEngine } from "./container-engine.ts";
import { startDockerServer, type DockerServerOptions } from "./docker-server.ts";
import { probeNats, probeRedis } from "./probe.ts";
import { runCommand, type RunCommand } from "./run-command.ts";
import { SERVER_KINDS, type ServerKindName } from "./server-kinds.ts";
import { ServerStartError, type RunningServer } from "./server-process.ts";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";

type Start = (more?: Partial<DockerServerOptions>) => Promise<RunningServer>;

/** Starts the image of `kind` as often as asked, in one directory; `null`, and skipped, where no engine can. */
async function containers(t: TestContext, kind: ServerKindName) {
  const search = { env: process.env, log: () => {}, run: runCommand };
  const found = await findContainerEngine({ ...search, kind: SERVER_KINDS[kind] });
  if ("reason" in found) {
    t.skip(found.reason);
    return null;
  }
  const { engine } = found;
  const dataDir = join(await testDirectory(), 'a:b, c="d"');
  const label = ["--filter", `label=switchyard.data-dir=${dataDir}`];
  const ofEngine = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCommand(engine, args, { timeoutMs: 15_000 });
    assert.equal(code, 0, stderr);
    return stdout.trim();
  };
  const start: Start = async (more = {}) => {
    const server = await startDockerServer({ ...found, kind, dataDir, ...more });
    t.after(() => server.stop());
    return server;
  };
  return { dataDir, start, ofEngine, running: () => ofEngine("ps", "--all", "--quiet", ...label) };
}

/** Writes a value that a server has to keep, in its own protocol, and waits for the acknowledgement. */
const KEEP = {
  nats: (server: RunningServer) => {
    const config = JSON.stringify({ name: "kept", subjects: ["kept"] });
    const create = `PUB $JS.API.STREAM.CREATE.kept answer ${config.length}\r\n${config}\r\n`;
    const words = `CONNECT {"verbose":false}\r\nSUB answer 1\r\n${create}`;
    return converse(server, words, /"did_create":true/);
  },
  redis: (server: RunningServer) => converse(server, "SET kept yes\r\n", /^\+OK\r\n/),
} as const;

/** Asks for what {@link KEEP} wrote. */
const KEPT = {
  nats: (server: RunningServer) => {
    const words =
      'CONNECT {"verbose":false}\r\nSUB answer 1\r\nPUB $JS.API.STREAM.INFO.kept answer 0\r\n\r\n';
    return converse(server, words, /"subjects":\["kept"\]/);
  },
  redis: (server: RunningServer) => converse(server, "GET kept\r\n", /^\$3\r\nyes\r\n/),
} as const;

async function converse(server: RunningServer, words: string, answer: RegExp): Promise<void> {
  const socket = connect(server.port, server.host).setEncoding("utf8");
  const signal = AbortSignal.timeout(10_000);
  socket.write(words);
  let received = "";
  while (!answer.test(received)) received += String((await once(socket, "data", { signal }))[0]);
  socket.destroy();
}

for (const kind of ["nats", "redis"] as const) {
  const probe = kind === "nats" ? probeNats : probeRedis;
  const startProgram = kind === "nats" ? testNats : testRedis;

  test(`${kind} in a container answers on loopback, is gone after stop, and continues with its data and port`, async (t) => {
    const machine = await containers(t, kind);
    if (machine === null) return;
    const first = await machine.start();
    assert.equal(first.url, `${kind}://127.0.0.1:${first.port}`);
    await KEEP[kind](first);
    await Promise.all([first.stop(), first.stop()]);
    assert.equal(await machine.running(), "");
    const second = await machine.start({ port: first.port });
    assert.equal(second.port, first.port);
    await KEPT[kind](second);
  });

  test(`${kind}: the container that a killed engine client left behind is removed before its data is used again`, async (t) => {
    const machine = await containers(t, kind);
    if (machine === null) return;
    const first = await machine.start();
    await KEEP[kind](first);
    process.kill(first.pid, "SIGKILL");
    await first.exited;
    const left = await machine.running();
    assert.notEqual(left, "");
    const lines: string[] = [];
    const second = await machine.start({
      port: first.port,
      log: (line) => void lines.push(line),
    });
    assert.deepEqual(lines, [
      `${kind}-server: removing container ${left} that an earlier start left running in ${machine.dataDir}`,
    ]);
    await KEPT[kind](second);
    await second.stop();
    assert.equal(await machine.running(), "");
  });

  test(`${kind}: a program continues with the data of a container, and a container with that of a program`, async (t) => {
    const machine = await containers(t, kind);
    if (machine === null) return;
    const { dataDir } = machine;
    const container = await machine.start();
    await KEEP[kind](container);
    const inUse = new RegExp(`is in use by process ${process.pid}`);
    await assert.rejects(startProgram({ dataDir }), inUse);
    await container.stop();
    const program = await startProgram({ dataDir });
    await KEPT[kind](program);
    await assert.rejects(machine.start(), inUse);
    await program.stop();
    await KEPT[kind](await machine.start());
  });

  test(`${kind}: a server that is killed inside its container ends the start's process, with its code`, async (t) => {
    const machine = await containers(t, kind);
    if (machine === null) return;
    const ended = Promise.withResolvers<number | null>();
    const server = await machine.start({ onExit: (code) => ended.resolve(code) });
    server.kill("SIGKILL");
    assert.equal(await ended.promise, 128 + 9);
    await server.exited;
    await server.stop();
    assert.equal(await machine.running(), "");
  });

  test(`${kind}: stop ends a container whose server is paused`, async (t) => {
    const machine = await containers(t, kind);
    if (machine === null) return;
    const server = await machine.start();
    await machine.ofEngine("kill", "--signal", "STOP", await machine.running());
    await server.stop();
    assert.equal(await machine.running(), "");
  });

  test(`${kind}: a taken port is an error that names it and leaves no container`, async (t) => {
    const machine = await containers(t, kind);
    if (machine === null) return;
    const other = await startProgram();
    await assert.rejects(machine.start({ port: other.port }), (error: unknown) => {
      assert.ok(error instanceof ServerStartError);
      assert.match(error.output, /address already in use|port is already allocated/);
      return true;
    });
    assert.equal(await machine.running(), "");
    await probe({ ...other, signal: AbortSignal.timeout(5_000) });
  });
}

test("a configuration the server in the container refuses is an error with the server's own words", async (t) => {
  const machine = await containers(t, "nats");
  if (machine === null) return;
  await assert.rejects(machine.start({ config: "no_such_setting: 1" }), (error: unknown) => {
    assert.ok(error instanceof ServerStartError);
    assert.match(error.message, /^nats-server \(.*\) ended with code 1 before it was ready/);
    assert.match(error.output, /no_such_setting/);
    return true;
  });
  assert.equal(await machine.running(), "");
});

test("no container is started where a program serves the directory, or the engine does not answer", async () => {
  const dataDir = await testDirectory();
  const redis = await testRedis({ dataDir, asProgram: true });
  const options = { kind: "redis", engine: "docker", image: "none", dataDir } as const;
  const run: RunCommand = async () => ({ code: 1, stdout: "", stderr: "daemon is away" });
  await assert.rejects(
    startDockerServer({ ...options, run }),
    new RegExp(`${dataDir} is in use by process ${process.pid}`),
  );
  await redis.stop();
  await assert.rejects(startDockerServer({ ...options, run }), /\(daemon is away\)$/);
});
