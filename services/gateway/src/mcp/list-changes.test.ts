import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { createListChanges, type ListChange } from "./list-changes.ts";

type Hub = Parameters<typeof createListChanges>[0];

test("a change of the rules and of a server changes lists, and other events change none [X41]", async () => {
  const received: ListChange[] = [];
  let emit: (subject: string) => void = () => assert.fail("no listener");
  // Only subjects are read, so the rest of a hub and of its events is left out.
  const hub = {
    onEvent(listener: (event: { subject: string }) => void) {
      emit = (subject) => listener({ subject });
      return () => {};
    },
  } as unknown as Hub;
  const stop = createListChanges(hub).subscribe((change) => received.push(change));
  for (const subject of [
    "yard.evt.run.r1.finished",
    "yard.evt.policy.rules.refused",
    "yard.evt.policy.rules.activated",
    "yard.evt.policy.rules.activated",
    "yard.evt.mcp.files.tools-discovered",
    "yard.evt.mcp.files.added",
  ])
    emit(subject);
  await until(() => received.length > 0);
  stop();
  assert.deepEqual(
    received.map(({ server, kinds }) => [server, [...kinds]]),
    [
      [null, ["tools", "resources", "prompts"]],
      ["files", ["tools"]],
    ],
  );
});
