import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";
import { supervise, type Change, type Running, type Supervised } from "./supervise.ts";

/** A process that runs until the test ends it. */
class StandIn implements Running {
  readonly pid: number;
  readonly healthUrl = null;
  readonly exited: Promise<string>;
  readonly end: (how: string) => void;

  constructor(pid: number) {
    this.pid = pid;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.exited = promise;
    this.end = resolve;
  }

  stop(): Promise<void> {
    this.end("stopped");
    return Promise.resolve();
  }

  kill(): void {
    this.end("killed");
  }
}

function scene(): {
  launched: StandIn[];
  changes: EventEmitter;
  launch: () => Promise<Running>;
  onChange: (change: Change) => void;
  failNext: (error: Error) => void;
} {
  const launched: StandIn[] = [];
  const changes = new EventEmitter();
  let failure: Error | null = null;
  return {
    launched,
    changes,
    async launch() {
      if (failure !== null) {
        const error = failure;
        failure = null;
        throw error;
      }
      const running = new StandIn(launched.length + 1);
      launched.push(running);
      return running;
    },
    onChange: (change) => changes.emit(change.change, change),
    failNext(error) {
      failure = error;
    },
  };
}

/** A part that runs. */
async function startedPart(options: Parameters<typeof supervise>[0]): Promise<Supervised> {
  const part = supervise(options);
  await part.started;
  return part;
}

const pause = (): Promise<void> => Promise.resolve();

test("rejects when the first start fails", async () => {
  const { launch, onChange, failNext } = scene();
  failNext(new Error("no"));
  await assert.rejects(supervise({ name: "x", launch, onChange, pause }).started, /no/);
});

test("starts a process again that died, and reports how it ended", async () => {
  const { launched, changes, launch, onChange } = scene();
  const part = await startedPart({ name: "x", launch, onChange, pause });
  const died = once(changes, "died");
  const restarted = once(changes, "restarted");
  launched[0]?.end("signal SIGKILL");
  const [death] = (await died) as [Change];
  assert.deepEqual(death, { change: "died", how: "signal SIGKILL", restartInMs: 500 });
  assert.equal(part.current, null);
  await restarted;
  assert.equal(part.current, launched[1]);
  await part.stop();
});

test("a process that ended to be started again is started at once, and that counts as no failure", async () => {
  const { launched, changes, launch, onChange } = scene();
  const noPause = () => assert.fail("nothing is waited for");
  const part = await startedPart({ name: "x", launch, onChange, pause: noPause });
  changes.on("died", () => assert.fail("it did not die"));
  for (const turn of [0, 1]) {
    const restarted = once(changes, "restarted");
    const restarting = once(changes, "restarting");
    launched[turn]?.end("exit code 75");
    await restarting;
    await restarted;
  }
  assert.equal(part.current, launched[2]);
  await part.stop();
});

test("tries again when a restart fails", async () => {
  const { launched, changes, launch, onChange, failNext } = scene();
  const part = await startedPart({ name: "x", launch, onChange, pause });
  const failed = once(changes, "restart_failed");
  failNext(new Error("port taken"));
  launched[0]?.end("exit code 1");
  const [change] = (await failed) as [Change];
  assert.equal(change.change === "restart_failed" && change.restartInMs, 1_000);
  await once(changes, "restarted");
  assert.equal(launched.length, 2);
  await part.stop();
});

test("a stopped process stays stopped", async () => {
  const { launched, changes, launch, onChange } = scene();
  const part = await startedPart({ name: "x", launch, onChange, pause });
  let isRestarted = false;
  changes.on("died", () => {
    isRestarted = true;
  });
  await part.stop();
  assert.equal(await launched[0]?.exited, "stopped");
  assert.equal(isRestarted, false);
  assert.equal(launched.length, 1);
});

test("a stop ends the wait for a restart", async () => {
  const { launched, changes, launch, onChange } = scene();
  const part = await startedPart({ name: "x", launch, onChange });
  const died = once(changes, "died");
  launched[0]?.end("exit code 1");
  await died;
  await part.stop();
  assert.equal(launched.length, 1);
});

test("a stop and a kill reach a process that has not answered yet", async () => {
  for (const end of ["stop", "kill"] as const) {
    const given = Promise.withResolvers<AbortSignal>();
    const part = supervise({
      name: "x",
      onChange: () => assert.fail("nothing was started"),
      launch: async (signal) => {
        given.resolve(signal);
        await once(signal, "abort");
        throw signal.reason;
      },
    });
    await given.promise;
    await part[end]();
    await assert.rejects(part.started, { name: "AbortError" });
    assert.equal(part.current, null);
  }
});
