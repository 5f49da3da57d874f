import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleDigest } from "../schema/bundle.ts";
import { BundleError, parseBundle } from "../bundle/parse-bundle.ts";
import { mayStart, unbelieved, type Start } from "./may-start.ts";

const RULES = "rules:\n  - { id: all, effect: allow }\n";

function bundle(sections: string) {
  return parseBundle({ file: "rules.yaml", text: `version: 1\n${sections}${RULES}` });
}

const team = bundle(`starters:
  - { id: reports, agents: [reporter-*], users: [team-a, team-b] }
  - { id: helpers, agents: [worker], parents: [reporter-*] }
  - { id: boss, users: [boss] }
`);
const asks = (agent: string, requester: string, parent: string | null = null): Start => ({
  agent,
  requester,
  parent,
});

test("without starters every user whom NATS lets publish the command may start every agent", () => {
  assert.equal(mayStart(bundle(""), asks("any", "anybody")), true);
});

test("with starters an agent that no entry names cannot be started", () => {
  assert.equal(mayStart(team, asks("reporter-eu", "team-a")), true);
  assert.equal(mayStart(team, asks("reporter-eu", "team-c")), false);
  assert.equal(mayStart(team, asks("writer", "team-a")), false);
  assert.equal(mayStart(team, asks("writer", "boss")), true);
});

test("an entry with parents is for sub-agents of those agents alone", () => {
  assert.equal(mayStart(team, asks("worker", "team-a")), false);
  assert.equal(mayStart(team, asks("worker", "team-a", "reporter-eu")), true);
  assert.equal(mayStart(team, asks("worker", "team-a", "writer")), false);
});

test("a sub-agent needs an entry of its own: a user who may start its parent need not be allowed to start it", () => {
  assert.equal(mayStart(team, asks("writer", "team-a", "reporter-eu")), false);
  assert.equal(mayStart(team, asks("reporter-us", "team-a", "reporter-eu")), true);
});

test("only users listed in origins are trusted about where a message comes from [X42]", () => {
  const origin = { channel: "slack:eng", owner: true, session: "s-1", model: "scripted/x" };
  const trusting = bundle("origins: { users: [channels] }\n");
  assert.deepEqual(unbelieved(trusting, { requester: "channels", origin }), []);
  assert.deepEqual(unbelieved(trusting, { requester: "team-a", origin }), ["channel", "owner"]);
  assert.deepEqual(unbelieved(bundle(""), { requester: "channels", origin }), ["channel", "owner"]);
  const own = { session: "s-1", model: "scripted/x" };
  assert.deepEqual(unbelieved(bundle(""), { requester: "team-a", origin: own }), []);
});

test("a starter that selects nothing, or has an id twice, refuses the bundle with its position", () => {
  const lines = (sections: string): string[] => {
    try {
      bundle(sections);
      return [];
    } catch (error) {
      assert.ok(error instanceof BundleError);
      return error.lines;
    }
  };
  assert.match(lines("starters:\n  - { id: a }\n").join(), /3:5.*starters\[0\] selects nothing/);
  assert.match(
    lines("starters:\n  - { id: a, users: [x] }\n  - { id: a, users: [y] }\n").join(),
    /starters\[1\]\.id "a" is already the id of starters\[0\]/,
  );
  assert.match(
    lines("starters:\n  - { id: a, who: [x] }\n").join(),
    /unknown key "who" in starters\[0\]; known keys are id, agents, users, parents/,
  );
  assert.match(lines("origins: { channels: [x] }\n").join(), /unknown key "channels" in origins/);
});

test("starters are part of the digest, the order of their entries is not", () => {
  const one = bundle("starters:\n  - { id: a, users: [x] }\n  - { id: b, users: [y] }\n");
  const other = bundle("starters:\n  - { id: b, users: [y] }\n  - { id: a, users: [x] }\n");
  assert.deepEqual(one.starters?.length, 2);
  assert.equal(bundleDigest(one), bundleDigest(other));
  assert.notEqual(bundleDigest(one), bundleDigest(bundle("")));
});
