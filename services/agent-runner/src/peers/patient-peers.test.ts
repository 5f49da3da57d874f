import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import type { Peers } from "./peers.ts";
import { patientPeers } from "./patient-peers.ts";

const TOOLS = { tools: [] };

test("a service that has no place is asked again until it has one", async () => {
  const { peers, asked } = answering(["overloaded", "overloaded"]);
  assert.equal(await peers.listBuiltins({ token: "t" }), TOOLS);
  assert.equal(asked(), 3);
});

test("any other failure is told at once", async () => {
  const { peers, asked } = answering(["timeout"]);
  await assert.rejects(peers.listBuiltins({ token: "t" }), { code: "timeout" });
  assert.equal(asked(), 1);
});

test("a service that never has a place is given up", async () => {
  const { peers, asked } = answering(Array.from({ length: 8 }, () => "overloaded"));
  await assert.rejects(peers.listBuiltins({ token: "t" }), { code: "overloaded" });
  assert.equal(asked(), 8);
});

test("the pause ends with the signal", async () => {
  const { peers, asked } = answering(["overloaded"]);
  const signal = AbortSignal.abort(new Error("left"));
  await assert.rejects(peers.listBuiltins({ token: "t" }, { signal }), { message: "left" });
  assert.equal(asked(), 1);
});

/** Peers whose toolbox fails with these codes, one after the other, and then answers. */
function answering(failures: readonly string[]) {
  let asked = 0;
  const toolbox = {
    async listBuiltins() {
      const code = failures[asked];
      asked += 1;
      if (code !== undefined) throw new ServiceError(code, "no");
      return TOOLS;
    },
  };
  // Nobody else is asked here.
  const peers = patientPeers(toolbox as unknown as Peers, () => -0.5);
  return { peers, asked: () => asked };
}
