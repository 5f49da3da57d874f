import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { ConnectError, type McpSession, type SessionEvents } from "./mcp-session.ts";
import { paceStarts } from "./pace-starts.ts";

/** Starts that continue until the test ends them; only their kind of server and their number matter. */
function lab(pace: { atOnce: number; holdMs: number }) {
  const begun: { readonly name: string; readonly end: PromiseWithResolvers<McpSession> }[] = [];
  const open = paceStarts((config) => {
    const end = Promise.withResolvers<McpSession>();
    begun.push({ name: config.id, end });
    return end.promise;
  }, pace);
  const start = (name: string, transport = "stdio", signal = new AbortController().signal) => {
    const config = { id: name, transport } as unknown as ServerConfig; // the only members that are read
    return open(config, {} as SessionEvents, signal); // nothing happens to it
  };
  const names = (): string[] => begun.map(({ name }) => name);
  const end = (name: string): void =>
    begun.find((one) => one.name === name)?.end.resolve({} as McpSession); // no method of it is called
  const fail = (name: string): void =>
    begun.find((one) => one.name === name)?.end.reject(new Error("no"));
  return { start, names, end, fail };
}

const turn = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

test("few processes start at once, in their order, also after one that fails", async () => {
  const { start, names, end, fail } = lab({ atOnce: 2, holdMs: 60_000 });
  const starts = ["a", "b", "c", "d"].map((name) => start(name).then(String, String));
  await turn();
  assert.deepEqual(names(), ["a", "b"]);
  end("b");
  await starts[1];
  await turn();
  assert.deepEqual(names(), ["a", "b", "c"]);
  fail("a");
  assert.equal(await starts[0], "Error: no");
  await turn();
  assert.deepEqual(names(), ["a", "b", "c", "d"]);
  end("c");
  end("d");
  await Promise.all(starts);
});

test("a server that hangs gives its place to others after a while, once", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const { start, names, end } = lab({ atOnce: 1, holdMs: 1_000 });
  const starts = ["hangs", "second", "third"].map((name) => start(name));
  await turn();
  assert.deepEqual(names(), ["hangs"]);
  mock.timers.tick(1_000);
  await turn();
  assert.deepEqual(names(), ["hangs", "second"]);
  end("hangs");
  await starts[0];
  await turn();
  assert.deepEqual(names(), ["hangs", "second"], "its slot was released already");
  end("second");
  await starts[1];
  await turn();
  assert.deepEqual(names(), ["hangs", "second", "third"]);
  end("third");
  await starts[2];
  mock.timers.reset();
});

test("a connection without a process does not wait, and an aborted waiting start never begins", async () => {
  const { start, names, end } = lab({ atOnce: 1, holdMs: 60_000 });
  const first = start("first");
  const gone = new AbortController();
  const waiting = assert.rejects(start("gone", "stdio", gone.signal), ConnectError);
  const last = start("last");
  void start("remote", "http");
  await turn();
  assert.deepEqual(names().toSorted(), ["first", "remote"]);
  gone.abort();
  await waiting;
  await assert.rejects(start("late", "stdio", gone.signal), ConnectError);
  end("first");
  await first;
  await turn();
  assert.deepEqual(names().toSorted(), ["first", "last", "remote"]);
  end("last");
  await last;
});
