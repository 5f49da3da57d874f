import assert from "node:assert/strict";
import { test } from "node:test";
import { refused, type Viewer } from "./session-access.ts";
import { chatOfKey, depthOfKey, markBelow, markBeside, spawnedKey } from "./session-names.ts";
import { WRITABLE_PATHS } from "./config-rules.ts";
import { ToolSettings } from "./tool-settings.ts";

const DESK: Viewer = { session: "agent:a:desk", agent: "a", isSandboxed: false };
const OWN = { key: "agent:a:desk", agent: "a" };
const SAME = { key: "agent:a:other", agent: "a" };
const OTHER = { key: "agent:b:main", agent: "b" };

const settings = (visibility: string, agentToAgent: object = {}, sandbox: object = {}) =>
  ToolSettings.parse({ sessions: { visibility }, agentToAgent, sandbox });
const asked = (wanted: typeof OWN, more: object = {}) =>
  ({ viewer: DESK, wanted, action: "history", isInTree: false, ...more }) as const;

test("which sessions are visible follows visibility, agentToAgent and the sandbox, in that order [F6] [F7] [F8] [F10]", () => {
  const everybody = { enabled: true };
  const cases: [ToolSettings, Parameters<typeof refused>[1], string | null][] = [
    [settings("self"), asked(OWN), null],
    [
      settings("self"),
      asked(SAME, { isInTree: true }),
      "Session history visibility is restricted to the current session (tools.sessions.visibility=self).",
    ],
    [settings("tree"), asked(OTHER, { isInTree: true }), null],
    [
      settings("tree"),
      asked(SAME, { action: "send" }),
      "Session send visibility is restricted to the current session tree (tools.sessions.visibility=tree).",
    ],
    [settings("agent"), asked(SAME), null],
    [
      settings("agent"),
      asked(OTHER, { action: "list" }),
      "Session list visibility is restricted. Set tools.sessions.visibility=all to allow cross-agent access.",
    ],
    [
      settings("all"),
      asked(OTHER, { action: "send" }),
      "Agent-to-agent messaging is disabled. Set tools.agentToAgent.enabled=true to allow cross-agent sends.",
    ],
    [
      settings("all"),
      asked(OTHER, { action: "status" }),
      "Agent-to-agent status is disabled. Set tools.agentToAgent.enabled=true to allow cross-agent access.",
    ],
    [settings("all", everybody), asked(OTHER), null],
    [
      settings("all", { enabled: true, allow: ["a"] }),
      asked(OTHER, { action: "send" }),
      "Agent-to-agent messaging denied by tools.agentToAgent.allow.",
    ],
    [settings("all", { enabled: true, allow: ["a", "b*"] }), asked(OTHER), null],
    // A session without an answer yet belongs to no agent.
    [
      settings("all", { enabled: true, allow: ["a"] }),
      asked({ key: "new", agent: null as never }),
      "Agent-to-agent history denied by tools.agentToAgent.allow.",
    ],
    [
      settings("all", everybody),
      asked(SAME, { viewer: { ...DESK, isSandboxed: true } }),
      "Session not visible from this sandboxed agent session.",
    ],
    [
      settings("all", everybody),
      asked(SAME, { viewer: { ...DESK, isSandboxed: true }, isInTree: true }),
      null,
    ],
    [
      settings("all", everybody, { sessions: "all" }),
      asked(OTHER, { viewer: { ...DESK, isSandboxed: true } }),
      null,
    ],
  ];
  for (const [at, question, answer] of cases)
    assert.equal(refused(at, question), answer, JSON.stringify([at, question]));
});

test("the default settings are OpenClaw's", () => {
  assert.deepEqual(ToolSettings.parse({}), {
    sessions: { visibility: "tree" },
    agentToAgent: { enabled: false, allow: ["*"], maxPingPongTurns: 5 },
    sandbox: { sessions: "spawned" },
    subagents: {
      allowAgents: [],
      requireAgentId: false,
      maxSpawnDepth: 1,
      maxChildrenPerAgent: 5,
    },
    gateway: { writable: WRITABLE_PATHS },
    message: {
      broadcast: { enabled: true },
      crossContext: { allowWithinProvider: true, allowAcrossProviders: true, prefix: "" },
    },
  });
  assert.throws(() => ToolSettings.parse({ session: {} }), /session/);
});

test("the key of a spawned session contains its depth and the sessions above it", () => {
  const child = spawnedKey("a", "desk");
  const grandchild = spawnedKey("b", child);
  const last = spawnedKey("a".repeat(64), grandchild);
  assert.deepEqual([child, grandchild, last, "desk"].map(depthOfKey), [1, 2, 3, 0]);
  assert.ok(last.length <= 128, last);
  const isBelow = (key: string, parent: string) => key.includes(markBelow(parent));
  for (const key of [child, grandchild, last]) {
    assert.ok(isBelow(key, "desk"), key);
    assert.ok(!isBelow(key, key), key);
    assert.ok(!isBelow(key, spawnedKey("a", "desk")), key);
  }
  assert.deepEqual([isBelow(last, child), isBelow(child, grandchild)], [true, false]);
  assert.equal(markBeside(child), markBelow("desk"));
  assert.equal(markBeside(grandchild), markBelow(child));
  assert.equal(markBeside("agent:a:main"), null);
  // A session that was started elsewhere has such a name.
  const foreign = "agent:a:subagent:subagent:1";
  const below = spawnedKey("a".repeat(64), foreign);
  assert.deepEqual([depthOfKey(foreign), depthOfKey(below)], [2, 3]);
  assert.ok(below.length <= 128 && isBelow(below, foreign), below);
});

test("the chat of a session's key has its account and thread", () => {
  assert.deepEqual(chatOfKey("agent:a:slack:work:channel:C1:thread:9"), {
    channel: "slack",
    accountId: "work",
    target: { kind: "channel", id: "C1" },
    threadId: "9",
  });
  assert.deepEqual(chatOfKey("agent:a:telegram:direct:42"), {
    channel: "telegram",
    target: { kind: "user", id: "42" },
  });
  for (const none of ["main", "agent:a:slack:direct:#0123", spawnedKey("a", "desk")])
    assert.equal(chatOfKey(none), null, none);
});
