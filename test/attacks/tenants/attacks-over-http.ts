import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import { createUserKey } from "@switchyard/contracts/policy/user-tokens";
import { ownApproval } from "./attacks-on-approvals.ts";
import { TEAM_A, TEAM_B } from "./reachable.ts";
import type { World } from "./world.ts";

/**
 * The rights of team-b: start runs, and decide as well. An administrator is no attacker: keys and sessions of all users are theirs.
 */
type As = "operator" | "approver";

/** Sends a request to a gateway and resolves to its status, its code where it is refused, and its text. */
export type Ask = (
  as: As,
  request: string,
  body?: object,
) => Promise<{ readonly status: number; readonly code: unknown; readonly text: string }>;

export interface Victim {
  readonly session: string;
  readonly approval: string;
  readonly run: string;
  /** An API key, which has to stay valid. */
  readonly key: string;
}

/** Ids of the same form without an object. */
const NOTHING: Victim = {
  session: `ses-${"0".repeat(26)}-a`,
  approval: `apr-${"0".repeat(32)}`,
  run: `${TEAM_A}~none`,
  key: "key-0000000000000000",
};

interface Row {
  readonly title: string;
  /** Method and path. */
  readonly request: (victim: Victim) => string;
  readonly body?: object;
  readonly as?: As;
  readonly refused: string;
}

const session = (method: string, rest = "", body?: object): Row => ({
  title: `${method} /sessions/{session}${rest}`,
  request: (victim) => `${method} /sessions/${victim.session}${rest}?owner=${TEAM_A}`,
  ...(body && { body }),
  refused: "404 unknown_session",
});

const approval = (method: string, rest: string, refused: string): Row => ({
  title: `${method} /approvals/{id}${rest}`,
  request: (victim) => `${method} /approvals/${victim.approval}${rest}`,
  ...(method === "POST" && { body: {} }),
  refused,
});

const key = (method: string, rest: string, as: As): Row => ({
  title: `${method} /keys/{id}${rest} as ${as}`,
  request: (victim) => `${method} /keys/${victim.key}${rest}`,
  ...(method === "POST" && { body: {} }),
  as,
  refused: "403 forbidden",
});

const run = (method: string, rest: string, refused: string, body?: object): Row => ({
  title: `${method} /runs/{runId}${rest}`,
  request: (victim) => `${method} /runs/${encodeURIComponent(victim.run)}${rest}`,
  ...(body && { body }),
  refused,
});

/** Requests of team-b about team-a's objects; for an unknown object the answer must be the same. */
const rows: readonly Row[] = [
  session("GET"),
  session("GET", "/history"),
  session("PATCH", "", { label: "mine" }),
  session("POST", "/messages", { message: "say the secret", agent: "echo" }),
  session("POST", "/reset", {}),
  session("DELETE"),
  approval("GET", "", "404 unknown_approval"),
  approval("POST", "/cancel", "404 unknown_approval"),
  approval("POST", "/approve", "403 forbidden"),
  approval("POST", "/deny", "403 forbidden"),
  key("DELETE", "", "operator"),
  key("DELETE", "", "approver"),
  key("POST", "/rotate", "operator"),
  key("POST", "/rotate", "approver"),
  run("GET", "", "404 unknown_run"),
  run("GET", "/recording", "404 unknown_run"),
  run("GET", "/events", "404 unknown_run"),
  run("POST", "/cancel", "403 not_allowed", {}),
  run("POST", "/answers", "403 not_allowed", { callId: "call-1", answer: "x" }),
];

const lists = [
  `/sessions?owner=${TEAM_A}`,
  "/approvals?pendingOnly=false",
  `/runs?owner=${TEAM_A}`,
  "/grants",
  "/runs/questions",
];

export const attacksOverHttp: readonly {
  readonly title: string;
  readonly run: (ask: Ask, victim: Victim, world: World) => Promise<unknown>;
}[] = [
  ...rows.map(({ title, request, body, as = "operator", refused }) => ({
    title: `${title} of team-a's, with the answer of what does not exist`,
    run: async (ask: Ask, victim: Victim) => {
      for (const named of [victim, NOTHING]) {
        const { status, code, text } = await ask(as, request(named), body);
        assert.equal(`${status} ${String(code)}`, refused, text);
      }
    },
  })),
  ...lists.map((path) => ({
    title: `GET ${path}, which shows nothing of team-a's`,
    run: async (ask: Ask, victim: Victim) => {
      const { status, text } = await ask("operator", `GET ${path}`);
      assert.equal(status, 200, text);
      for (const id of Object.values(victim)) assert.ok(!text.includes(String(id)), text);
      assert.doesNotMatch(text, /secret of team-a/);
    },
  })),
  {
    title: "GET /keys, as operator and as approver",
    run: async (ask) => {
      for (const as of ["operator", "approver"] as const)
        assert.equal((await ask(as, "GET /keys")).code, "forbidden");
    },
  },
  {
    title: "POST /approvals/{id}/approve of its own call, with the role that decides",
    run: async (ask, _victim, world) => {
      const id = await ownApproval(world, "own-over-http");
      const { status, code, text } = await ask("approver", `POST /approvals/${id}/approve`, {});
      assert.equal(`${status} ${String(code)}`, "403 forbidden_approver", text);
    },
  },
];

/** Keys of both teams at this gateway. */
export async function startHttp({ cli, victim }: World, url: string) {
  const [ofA, operator, approver] = await Promise.all([
    call(cli, createUserKey, { caller: TEAM_A, roles: ["operator"] }),
    call(cli, createUserKey, { caller: TEAM_B, roles: ["operator"] }),
    call(cli, createUserKey, { caller: TEAM_B, roles: ["operator", "approver"] }),
  ]);
  const send = async (token: string, request: string, body?: object) => {
    const [method = "", path = ""] = request.split(" ");
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    const { code } = JSON.parse(text) as { code?: unknown };
    return { status: response.status, code, text };
  };
  const ask: Ask = (as, request, body) => send({ operator, approver }[as].key, request, body);
  return {
    ask,
    victim: {
      session: victim.session.id,
      approval: victim.held.approvalId,
      run: victim.held.runId,
      key: ofA.info.id,
    } satisfies Victim,
    /** Sends a request as team-a. */
    askAsVictim: (request: string) => send(ofA.key, request),
  };
}
