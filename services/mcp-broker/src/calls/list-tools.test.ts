import assert from "node:assert/strict";
import { test } from "node:test";
import { prepareReply, replyBody } from "@switchyard/bus/prepared-reply";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { ServerView } from "../ownership/server-views.ts";
import { createListableTools, createListTools, createPreparedLists } from "./list-tools.ts";

function toolsOf(id: string, names: readonly string[]): ServerView["catalogue"]["tools"] {
  return names.map((tool) => {
    const ref = mcpToolRef(id, tool);
    const inputSchema = { type: "object" as const };
    return { ref, info: { name: ref.name, server: id, tool, description: "", inputSchema } };
  });
}

function view(id: string, tools: ServerView["catalogue"]["tools"]): ServerView {
  const info: ServerView["info"] = {
    id,
    name: id,
    origin: "file",
    transport: "stdio",
    status: "connected",
    toolCount: 0,
    serverVersion: null,
    protocolVersion: null,
    lastError: null,
    connectedAt: null,
  };
  return { entry: { id }, info, start: async () => {}, catalogue: { tools, problems: [] } };
}

const one = toolsOf("one", ["a", "b"]);
const two = toolsOf("two", ["c"]);

test("the same tools are the same list, and another list of any server is another", () => {
  const find = createListableTools();
  const all = find([view("one", one), view("two", two)], undefined);
  assert.deepEqual(
    all.refs.map(({ tool }) => tool),
    ["a", "b", "c"],
  );
  assert.deepEqual(
    all.infos.map(({ name }) => name),
    all.refs.map(({ name }) => name),
  );
  assert.equal(find([view("one", one), view("two", two)], undefined), all);
  const ofOne = find([view("one", one), view("two", two)], "one");
  assert.deepEqual(
    ofOne.refs.map(({ tool }) => tool),
    ["a", "b"],
  );
  const next = find([view("one", one), view("two", toolsOf("two", ["c"]))], undefined);
  assert.notEqual(next, all);
  assert.notEqual(find([view("one", one)], undefined), next);
  assert.deepEqual(find([], undefined).refs, []);
});

test("names that collide are left out when the other server is added, and listed again when it is removed", () => {
  const find = createListableTools();
  const dashed = view("a--b", toolsOf("a--b", ["c"]));
  const plain = view("a", toolsOf("a", ["b__c", "d"]));
  assert.equal(find([dashed], "a--b").refs.length, 1);
  const { refs, colliding } = find([dashed, plain], "a--b");
  assert.deepEqual([refs.length, colliding.size], [0, 2]);
  assert.equal(find([dashed], "a--b").refs.length, 1);
});

test("a list is made once for its tools and key, and again when too much is kept", async () => {
  const tools = createListableTools()([view("one", one)], undefined);
  const others = createListableTools()([view("two", two)], undefined);
  const list = prepareReply(listTools, { tools: [...tools.infos], failures: [] });
  let made = 0;
  const make = async () => {
    made += 1;
    return list;
  };
  const lists = createPreparedLists(2 * list.characters + 2);
  for (const [source, key] of [
    [tools, "a"],
    [tools, "b"],
    [tools, "a"],
    [tools, "b"],
  ] as const)
    assert.equal(await lists.get(source, key, make), list);
  assert.equal(made, 2);
  await lists.get(others, "a", make); // no room for a third: everything else goes
  await lists.get(others, "a", make);
  assert.equal(made, 3);
  await lists.get(tools, "a", make);
  assert.equal(made, 4);
  const none = createPreparedLists(list.characters);
  await none.get(tools, "a", make);
  await none.get(tools, "a", make);
  assert.equal(made, 6);
});

test("a server that connects while the policy decides is named as missing, not left out in silence", async () => {
  const late = { ...view("late", []), info: { ...view("late", []).info } };
  late.info.status = "connecting";
  const list = createListTools({
    async filter(refs) {
      late.info.status = "connected";
      return new Set(refs.map(({ name }) => name));
    },
  });
  const requester = {
    onBehalfOf: "cli",
    token: undefined,
    deadline: 0,
    signal: new AbortController().signal,
    correlationId: "c",
    traceparent: "",
  };
  const reply = await list([view("one", one), late], {}, requester);
  const { tools, failures } = listTools.reply.parse(JSON.parse(replyBody(listTools, reply)).value);
  assert.equal(tools.length, 2);
  assert.deepEqual(
    failures.map(({ server, status }) => ({ server, status })),
    [{ server: "late", status: "connecting" }],
  );
});
