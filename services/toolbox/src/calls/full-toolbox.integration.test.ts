import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { callBuiltin, cancelBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { until } from "@switchyard/local-servers/until";
import { runToken, toolboxWorld } from "../../test-fixtures/test-toolbox.ts";
import { replaceConstants } from "@switchyard/testing/test-constants";

const world = await toolboxWorld();
replaceConstants({ toolboxConcurrency: 1 });
const toolbox = await world.start({});

const skip = world.noCommands;
test("while commands hold all slots, lists and cancels get through", { skip }, async () => {
  const token = runToken("long");
  const args = { command: "echo > begun; sleep 300", shell: true, timeout: 300_000 };
  const ended = assert.rejects(
    world.call({ tool: "execute_command", args, callId: "long-1", token }),
    (error) => isError(error, callBuiltin, "cancelled"),
  );
  await until(() => existsSync(join(toolbox.workspaces, "run-long", "begun")));
  await assert.rejects(world.call({ tool: "list_files", args: {} }), (error) => {
    assert.ok(isError(error, callBuiltin, "overloaded"));
    assert.match(error.message, /is at its limit of 1 calls at a time/);
    return true;
  });
  const { tools } = await world.tools();
  assert.ok(tools.length > 0);
  const cancelled = await call(world.cli, cancelBuiltin, { callId: "long-1", token });
  assert.deepEqual(cancelled, { cancelled: true });
  await ended;
});

test("a requester's sleeping commands leave slots for others, also when one service calls for all", async () => {
  replaceConstants({ toolboxConcurrency: 4 });
  const shared = await world.start({ YARD_SANDBOX: "off" });
  const command = (requester: string, callId: string, text: string) =>
    world.call({
      tool: "execute_command",
      args: { command: text, shell: true, timeout: 300_000 },
      callId,
      token: runToken(callId, "", requester),
    });
  await toolbox.stop();
  const names = ["noisy-1", "noisy-2"];
  const sleeping = names.map((name) =>
    assert.rejects(command("noisy", name, "echo > begun; sleep 300"), (error) =>
      isError(error, callBuiltin, "cancelled"),
    ),
  );
  const begun = (name: string) => join(shared.workspaces, `run-${name}`, "begun");
  await until(() => names.every((name) => existsSync(begun(name))));
  await assert.rejects(command("noisy", "noisy-3", "echo > begun"), (error) => {
    assert.ok(isError(error, callBuiltin, "overloaded"));
    assert.match(error.message, /has 2 calls of noisy in work, its share of 4 at a time/);
    return true;
  });
  assert.equal(existsSync(begun("noisy-3")), false);
  assert.match((await command("quiet", "quiet-1", "echo fine")).text, /fine/);
  for (const callId of names)
    await call(world.cli, cancelBuiltin, { callId, token: runToken(callId, "", "noisy") });
  await Promise.all(sleeping);
  assert.match((await command("noisy", "noisy-3", "echo now")).text, /now/, "its id is free");
  await shared.stop();
});

test("beside a fork bomb and a memory hog of one requester, another one's command runs", async (t) => {
  if (skip !== false) return t.skip(skip);
  replaceConstants({ commandProcesses: 64, toolboxConcurrency: 32 });
  const limited = await world.start({ YARD_COMMAND_MEMORY_MB: "128" });
  if (limited.logText().includes("does not hold the number of processes"))
    return t.skip("root may make no control group here, so a fork bomb would disturb the machine");
  const command = (requester: string, text: string) =>
    world.call({
      tool: "execute_command",
      args: { command: text, shell: true, timeout: 20_000 },
      token: runToken(requester, "", requester),
    });
  const hog = "(head -c 100M /dev/zero | tail; sleep 20) & ";
  const noisy = [
    command("noisy", "echo > bomb; b() { b | b & b; }; b; wait"),
    command("noisy", `echo > hog; ${hog}${hog}wait`),
  ];
  for (const name of ["bomb", "hog"])
    await until(() => existsSync(join(limited.workspaces, "run-noisy", name)));
  for (let turn = 0; turn < 5; turn += 1)
    assert.match((await command("quiet", `echo turn ${turn}`)).text, /^Exit code 0[^]*turn/);
  const [bomb, hogged] = await Promise.all(noisy);
  assert.match(bomb?.text ?? "", /Cannot fork|more than 64 processes|retry/);
  assert.match(hogged?.text ?? "", /used more than 128 MiB of memory/);
  await limited.stop();
});
