import assert from "node:assert/strict";
import { test } from "node:test";
import { findBus } from "./bus-session.ts";

const YARD_NATS_URL = "nats://127.0.0.1:4222";

test("an empty variable counts as unset", async () => {
  const env = { YARD_NATS_URL, YARD_USER: "", YARD_NATS_NKEY_FILE: "" };
  const { user, nkeyFile } = await findBus(env);
  assert.deepEqual({ user, nkeyFile }, { user: "cli", nkeyFile: null });
});

test("a name that is not a user's is refused before anything is sent", async () => {
  for (const YARD_USER of ["a.b", ">", "Team A", "é"]) {
    await assert.rejects(findBus({ YARD_NATS_URL, YARD_USER }), { code: "usage" }, YARD_USER);
  }
});
