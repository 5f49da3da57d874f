import { ServiceError } from "@switchyard/contracts/errors";
import assert from "node:assert/strict";
import { test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { EntryOf, JournalEntry, WithoutTime } from "../core/journal-entry.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import type { ServiceClients } from "../context/service-clients.ts";
import { RunTokenKeeper } from "../context/run-token-keeper.ts";
import type { ListedTool } from "../core/tool-catalogue.ts";
import { ToolLister } from "./tool-lister.ts";

const NOW = Date.parse("2026-01-01T00:00:00.000Z");

test("the first list is the one requested in advance, and the next is requested anew", async () => {
  const { lister, asked } = listerWith({
    listing: Promise.resolve({ tools: [tool("ahead")], denied: [], unavailable: [] }),
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

test("a list that does not come is not waited for after the run has ended", async () => {
  const leaving = new AbortController();
  const { lister } = listerWith({ listing: new Promise(() => {}), signal: leaving.signal });
  const listed = assert.rejects(lister.tools(), { message: "cancelled" });
  leaving.abort(new Error("cancelled"));
  await listed;
});

test("a tool of the runner that the policy denies is not offered, unless the policy is unavailable", async () => {
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
  assert.deepEqual(names.slice(0, 4), ["ask_user", "wait", "agent", "child_runs"]);
});

test("servers whose tools are missing are noted when they change, and their reasons cut [CR12]", async () => {
  const failing = (server: string) => {
    return { server, status: "error" as const, error: "x".repeat(1_000) };
  };
  let failures = [failing("files"), failing("other")];
  const layers = [["mcp__files__*", "web.*"]];
  const { lister, run, recorded } = listerWith({ failures: () => failures, layers });
  const list = async () => {
    lister.forget();
    await lister.tools();
    return recorded.map(({ servers }) => servers.map(({ server }) => server));
  };
  assert.deepEqual(await list(), [["files"]], "the run may not use the other one");
  assert.equal(recorded[0]?.servers[0]?.reason.length, 300);
  assert.deepEqual(await list(), [["files"]]);
  failures = [failing("files"), failing("web")];
  assert.deepEqual(await list(), [["files"], ["files", "web"]]);
  failures = [];
  assert.deepEqual(await list(), [["files"], ["files", "web"], []]);
  assert.deepEqual(run.state.unavailable, []);
});

test("a server that a run names and that is not connected is connected first, for a bounded time [C18]", async () => {
  const connected = new Set<string>();
  const ensured = new Set<string>();
  const asked: string[] = [];
  const failures = () => {
    const unconnected = ["files", "web", "slow"].filter((server) => !connected.has(server));
    for (const server of ensured) connected.add(server); // the next list includes it
    return unconnected.map((server) => {
      return { server, status: "disconnected" as const, error: "not connected" };
    });
  };
  const ensureServer = async ({ server }: { server: string }) => {
    asked.push(server);
    if (server === "slow") throw new ServiceError("timeout", "no answer within 20 s");
    ensured.add(server);
    return { server };
  };
  const all = listerWith({ failures, ensureServer, layers: [["*"], ["mcp__*"]] });
  await all.lister.tools();
  assert.deepEqual([asked, all.recorded], [[], []]);
  const named = listerWith({ failures, ensureServer, layers: [["*"], ["files.read", "slow.*"]] });
  await named.lister.tools();
  assert.deepEqual(asked.toSorted(), ["files", "slow"]);
  assert.equal(named.asked(), 3);
  const servers = [{ server: "slow", reason: "no answer within 20 s" }];
  assert.deepEqual(named.recorded, [{ kind: "tools-unavailable", servers }]);
});

function listerWith({
  filterOwn = async ({ names }) => [...names],
  failures = () => [],
  ensureServer = async ({ server }) => ({ server }),
  layers = [],
  listing,
  signal = new AbortController().signal,
}: {
  listing?: ConstructorParameters<typeof ToolLister>[1];
  signal?: AbortSignal;
  filterOwn?: ServiceClients["filterOwn"];
  failures?: () => Awaited<ReturnType<ServiceClients["listTools"]>>["failures"];
  ensureServer?: ServiceClients["ensureServer"];
  layers?: string[][];
}) {
  let asked = 0;
  const recorded: WithoutTime<EntryOf<"tools-unavailable">>[] = [];
  const broker = {
    async listTools() {
      asked += 1;
      return { tools: [tool("asked")], failures: failures() };
    },
    ensureServer,
    listBuiltins: async () => ({ tools: [] }),
    filterOwn,
  };
  // The lister calls no other service.
  const services = broker as unknown as ServiceClients;
  const run = {
    state: startOf(startedEntry({ catalogue: [], depthLeft: 1, toolLayers: layers })),
    note: async (...entries: WithoutTime<JournalEntry>[]) => {
      for (const entry of entries) {
        run.state = applyEntry(run.state, { ...entry, at: new Date(NOW).toISOString() });
        if (entry.kind === "tools-unavailable") recorded.push(entry);
      }
    },
  };
  const initial = { token: "t", expiresAt: NOW + 3_600_000 };
  const store = { load: async () => [] };
  const now = (): number => NOW;
  const tokens = new RunTokenKeeper({ clients: services, store, run, initial, now });
  const lister = new ToolLister(
    { run, clients: services, tokens, signal, maxToolsPerAgent: 50, now },
    listing,
  );
  return { lister, asked: () => asked, run, recorded };
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
