import assert from "node:assert/strict";
import { test } from "node:test";
import { isError } from "@switchyard/contracts/errors";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { toolboxWorld } from "../../test-fixtures/test-toolbox.ts";

const world = await toolboxWorld();
await world.start();

test("without a configuration directory gateway tools are not listed, and a call returns the reason [F30-F34]", async () => {
  const { tools } = await world.tools();
  assert.deepEqual(
    tools.filter(({ name }) => name.startsWith("gateway_")),
    [],
  );
  await assert.rejects(world.call({ tool: "gateway_config_get", args: {} }), (error) => {
    assert.ok(isError(error, callBuiltin, "tool_unavailable"));
    assert.match(error.message, /YARD_CONFIG_DIR/);
    return true;
  });
});
