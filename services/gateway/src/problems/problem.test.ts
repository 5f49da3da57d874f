import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { problemOf } from "./problem.ts";

test("a problem names services and requests, and no subject of NATS", () => {
  const [rpc, command] = ["yard.rpc.team-a.runs.list", "yard.cmd.team-a.run.start.helper"];
  for (const [code, message, detail] of [
    ["no_responders", `no service answers ${rpc}: nothing owns it`, /^the service runner does not/],
    ["no_responders", `no stream stores ${command}: create it`, /^no stream stores run\.start/],
    ["timeout", `no answer to ${rpc} within 5 ms`, /^no answer to runs\.list within 5 ms$/],
    ["overloaded", `${command} was refused`, /^run\.start\.helper was refused$/],
  ] as const) {
    const problem = problemOf(new ServiceError(code, message));
    assert.match(problem?.message ?? "", detail);
    assert.doesNotMatch(problem?.message ?? "", /yard\./);
  }
});
