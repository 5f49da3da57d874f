import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { callBuiltin, cancelBuiltin } from "@switchyard/contracts/toolbox";
import { until } from "@switchyard/local-servers/until";
import { runToken, toolboxWorld } from "../../test-fixtures/test-toolbox.ts";

const world = await toolboxWorld();
const toolbox = await world.start({ YARD_TOOLBOX_CONCURRENCY: "1" });

const skip = world.noCommands;
test("while commands have all places, lists and cancels come through", { skip }, async () => {
  const token = runToken("long");
  const args = { command: "echo > begun; sleep 300", shell: true, timeout: 300_000 };
  const ended = assert.rejects(
    world.call({ tool: "execute_command", args, callId: "long-1", token }),
    (error) => isError(error, callBuiltin, "cancelled"),
  );
  await until(() => existsSync(join(toolbox.workspaces, "run-long", "begun")));
  await assert.rejects(world.call({ tool: "list_files", args: {} }), { code: "overloaded" });
  const { tools } = await world.tools();
  assert.ok(tools.length > 0);
  const cancelled = await call(world.cli, cancelBuiltin, { callId: "long-1", token });
  assert.deepEqual(cancelled, { cancelled: true });
  await ended;
});
