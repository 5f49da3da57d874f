import assert from "node:assert/strict";
import { test } from "node:test";
import { withRoom } from "./ask-person.ts";
import type { OpenQuestions } from "./open-questions.ts";

const principals = ["ann", "bob"].map((user) => ({ user, agent: null, runId: null }));

/** The users that may get a question while so many are open. */
function asked(open: { readonly server?: number; readonly user?: number; readonly both?: number }) {
  const count: OpenQuestions["count"] = ({ server, user } = {}) => {
    if (user === "bob") return 0;
    if (server !== undefined && user !== undefined) return open.both ?? 0;
    return (user === undefined ? open.server : open.user) ?? 0;
  };
  const questions = { count } as OpenQuestions; // it counts, and does nothing else
  return withRoom(questions, "forms", principals).map(({ user }) => user);
}

test("a user has 8 open questions of a server and 64 in all, and another user's do not count", () => {
  assert.deepEqual(asked({ both: 7 }), ["ann", "bob"]);
  assert.deepEqual(asked({ both: 8 }), ["bob"]);
  assert.deepEqual(asked({ user: 63 }), ["ann", "bob"]);
  assert.deepEqual(asked({ user: 64 }), ["bob"]);
});

test("a server has 32 open questions, and then no user gets another one", () => {
  assert.deepEqual(asked({ server: 31 }), ["ann", "bob"]);
  assert.deepEqual(asked({ server: 32 }), []);
});
