import assert from "node:assert/strict";
import { test } from "node:test";
import { falseClaim } from "./claim-session.ts";

test("a claim is true only when the record of the session has the same value [F39]", () => {
  const facts = { agent: "coder", channel: "telegram", group: null, depth: 0 };
  assert.equal(falseClaim({}, facts), null);
  assert.equal(falseClaim({ agent: "coder", channel: "telegram", depth: 0 }, facts), null);
  assert.deepEqual(falseClaim({ agent: "boss" }, facts), {
    claim: "agent",
    claimed: "boss",
    recorded: "coder",
  });
  assert.deepEqual(falseClaim({ channel: "slack", group: "x" }, facts), {
    claim: "channel",
    claimed: "slack",
    recorded: "telegram",
  });
  assert.deepEqual(falseClaim({ group: "team" }, facts)?.recorded, null);
  const room = { ...facts, channel: "slack:eng" };
  assert.equal(falseClaim({ channel: "slack" }, room), null, "the record names the account, too");
  assert.equal(falseClaim({ channel: "slack:ops" }, room)?.recorded, "slack:eng");
  assert.equal(falseClaim({ channel: "sla" }, room)?.recorded, "slack:eng");
  assert.deepEqual(falseClaim({ depth: 1 }, facts), {
    claim: "depth",
    claimed: "1",
    recorded: "0",
  });
});
