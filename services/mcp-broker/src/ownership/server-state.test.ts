import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { turnsDuring } from "../../test-fixtures/turns-during.ts";
import { readServerState, serverStateText, type PublishedConnection } from "./server-state.ts";

function connectionWith(tools: number): PublishedConnection {
  const listed = Array.from({ length: tools }, (_, n) => {
    const ref = mcpToolRef("many", `tool-${n}`);
    const { name, tool } = ref;
    const inputSchema = { type: "object" } as const;
    return { ref, info: { name, server: "many", tool, description: "A tool", inputSchema } };
  });
  return {
    info: {
      id: "many",
      name: "many",
      origin: "file",
      transport: "stdio",
      status: "connected",
      toolCount: tools,
      serverVersion: null,
      protocolVersion: null,
      lastError: null,
      connectedAt: null,
    },
    heldBecause: null,
    isStateless: false,
    catalogue: { tools: listed, problems: ["a problem"] },
    entry: { config: null },
  };
}

test("writes and reads the state of a long list in slices that leave time to renew leases", async () => {
  const connection = connectionWith(100);
  assert.ok((await turnsDuring(() => serverStateText(connection))) >= 8);
  const text = await serverStateText(connection);
  assert.ok((await turnsDuring(() => readServerState(text))) >= 8);
  const state = await readServerState(text);
  assert.deepEqual(state?.tools, connection.catalogue.tools);
  assert.deepEqual(state.problems, ["a problem"]);
});
