import { ServiceError } from "@switchyard/contracts/errors";
import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { startOf } from "../journal/replay.ts";
import type { Peers } from "../peers.ts";
import { RunTokenKeeper } from "../run/run-token-keeper.ts";
import type { ListedTool } from "./listed-tool.ts";
import { ToolLister, type ToolListerOptions } from "./tool-lister.ts";

const NOW = Date.parse("2026-01-01T00:00:00.000Z");

test("the first list is what was asked for ahead, and the next is asked for anew", async () => {
  const { lister, asked } = listerWith({
    listing: Promise.resolve({ tools: [tool("ahead")], denied: [] }),
  });
  const first = await lister.tools();
  assert.deepEqual(namesOf(first), ["mcp__files__ahead"]);
  assert.equal(lister.isCurrent(first), true);
  assert.deepEqual([await lister.tools(), asked()], [first, 0]);
  lister.forget();
  assert.equal(lister.isCurrent(first), false);
  assert.deepEqual(namesOf(await lister.tools()), ["mcp__files__asked"]);
  assert.equal(asked(), 1);
});

test("a list that does not come is not waited for longer than the run goes on", async () => {
  const leaving = new AbortController();
  const { lister } = listerWith({ listing: new Promise(() => {}), signal: leaving.signal });
  const listed = assert.rejects(lister.tools(), { message: "cancelled" });
  leaving.abort(new Error("cancelled"));
  await listed;
});

test("a tool of the runner that the policy denies is not offered, unless the policy gives no answer", async () => {
  const denying = listerWith({ filterOwn: async () => [] });
  const { offered, own } = await denying.lister.tools();
  assert.deepEqual(
    offered.map(({ name }) => name),
    ["ask_user", "wait", "mcp__files__asked"],
  );
  assert.equal(own?.has("agent"), true, "a call of it is still brought to the policy");
  const silent = listerWith({
    filterOwn: () => Promise.reject(new ServiceError("no_responders", "away")),
  });
  const names = (await silent.lister.tools()).offered.map(({ name }) => name);
  assert.deepEqual(names.slice(0, 4), ["ask_user", "wait", "agent", "subagents"]);
});

function listerWith({
  filterOwn = async ({ names }) => [...names],
  ...options
}: Pick<ToolListerOptions, "listing"> & {
  signal?: AbortSignal;
  filterOwn?: Peers["filterOwn"];
}) {
  let asked = 0;
  const broker = {
    async listTools() {
      asked += 1;
      return { tools: [tool("asked")] };
    },
    listBuiltins: async () => ({ tools: [] }),
    filterOwn,
  };
  // Nobody else is asked for a list.
  const peers = broker as unknown as Peers;
  const run = { state: startOf(startedEntry({ catalogue: [], depthLeft: 1 })) };
  const initial = { token: "t", expiresAt: NOW + 3_600_000 };
  const store = { load: async () => [] };
  const now = (): number => NOW;
  const lister = new ToolLister({
    run,
    peers,
    tokens: new RunTokenKeeper({ peers, store, run, initial, now }),
    signal: new AbortController().signal,
    record: async () => {},
    maxToolsPerAgent: 50,
    now,
    ...options,
  });
  return { lister, asked: () => asked };
}

function namesOf({ servers }: { readonly servers: ReadonlyMap<string, unknown> }): string[] {
  return [...servers.keys()];
}

function tool(name: string): ListedTool {
  return {
    name: `mcp__files__${name}`,
    tool: name,
    server: "files",
    description: "",
    inputSchema: { type: "object" },
  };
}
