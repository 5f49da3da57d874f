import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { client } from "@switchyard/bus/call";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { approveCall, cancelApproval } from "@switchyard/contracts/policy/approvals";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { releaseCall, resumeCalls, stopCalls } from "@switchyard/contracts/policy/policy-budgets";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import { holdingRunner } from "../test/holding-runner.ts";
import { startPolicyWorld } from "../test/policy-world.ts";

// Two teams have the same agents, runs of the same names in sessions of the same name, and the same calls, in any order. Each
// team's answers have to be those of a model of this team alone.

const TEAMS = ["team-a", "team-b"] as const;
const CALLS = 3;
const AT_ONCE = 2;
const world = await startPolicyWorld({
  teams: TEAMS,
  rules: `version: 1
rules:
  - { id: gets, effect: allow, approval: auto, what: { tools: [web.get, web.hold] } }
  - { id: writes, effect: allow, approval: session, ttl: 10m, what: { tools: [web.write] } }
  - { id: team-b-alone, effect: deny, who: { users: [team-a] }, what: { tools: [web.drop] } }
  - { id: drops, effect: allow, approval: auto, what: { tools: [web.drop] } }
budgets:
  - { id: calls, for: { agents: [counted] }, per: run, calls: ${CALLS} }
  - { id: at-once, for: { agents: [holding] }, per: user, concurrency: ${AT_ONCE} }
`,
});
await world.startReplica();
const cli = client(await world.connectAs("cli"), {
  approveCall,
  cancelApproval,
  stopCalls,
  resumeCalls,
});
const broker = client(await world.connectAs("broker"), { checkPolicy, admitCall, releaseCall });
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);

/** The state of one team, independent of the other. */
interface Model {
  counted: number;
  held: number;
  isWaiting: boolean;
  isGranted: boolean;
  isStopped: boolean;
}

type Agent = "counted" | "holding" | "writer";

/** The team in the service under test. */
class Team {
  readonly #name: string;
  readonly #tokens: Readonly<Record<Agent, string>>;
  readonly reservations: string[] = [];
  #calls = 0;
  approvalId: string | null = null;

  private constructor(name: string, tokens: Record<Agent, string>) {
    this.#name = name;
    this.#tokens = tokens;
  }

  static async begin(name: string, round: number): Promise<Team> {
    const tokenOf = async (agent: string): Promise<string> => {
      const runId = `${name}~${agent}-${round}`;
      const origin = { session: `talk-${round}` };
      const asked = { runId, agent, requester: name, tools: [], ttlSeconds: 600, origin };
      return (await runner.grantRun(asked)).token;
    };
    const [counted, holding, writer] = await Promise.all(
      ["counted", "holding", "writer"].map(tokenOf),
    ).then((tokens) => tokens as [string, string, string]); // one for each agent
    return new Team(name, { counted, holding, writer });
  }

  async check(agent: Agent, tool: string) {
    const asked = { onBehalfOf: "runner", token: this.#tokens[agent] };
    return broker.checkPolicy({ ...asked, tool: mcpToolRef("web", tool), args: { path: "x" } });
  }

  /** Makes the call again that waits, or a new one. */
  async write(): Promise<string> {
    const { decision, principal } = await this.check("writer", "write");
    if (decision.effect !== "ask") return decision.effect;
    if (this.approvalId === null) this.#calls += 1;
    const call = { onBehalfOf: "runner", token: this.#tokens.writer };
    const about = { ...call, tool: mcpToolRef("web", "write"), args: { path: "x" } };
    const callId = `${principal.runId}:${this.#calls}`;
    const binding = bindingDigest({
      ...about,
      principal,
      decision,
      caller: "runner",
      pin: undefined,
    });
    const attempt = randomUUID();
    const reply = await broker.admitCall({ ...about, callId, decision, binding, attempt });
    this.approvalId = reply.outcome === "waiting" ? reply.approvalId : null;
    return reply.outcome;
  }

  async stop(): Promise<void> {
    await cli.stopCalls({ scope: { kind: "user", name: this.#name }, reason: "test" });
    this.approvalId = null;
  }

  async resume(): Promise<void> {
    await cli.resumeCalls({ scope: { kind: "user", name: this.#name } });
  }
}

type Teams = Readonly<Record<(typeof TEAMS)[number], Team>>;
type Models = Readonly<Record<(typeof TEAMS)[number], Model>>;
type Step = fc.AsyncCommand<Models, Teams>;

function step(
  name: string,
  options: {
    readonly canRun?: (model: Model) => boolean;
    /** Returns the reply that the model expects from the service; changes the model. */
    readonly expected: (model: Model, name: string) => unknown;
    readonly run: (team: Team) => Promise<unknown>;
  },
): fc.Arbitrary<Step> {
  const { canRun = () => true, expected, run } = options;
  return fc.constantFrom(...TEAMS).map((team) => ({
    check: (models) => canRun(models[team]),
    toString: () => `${team} ${name}`,
    async run(models, teams) {
      assert.deepEqual(await run(teams[team]), expected(models[team], team), `${team} ${name}`);
    },
  }));
}

const counted = step("calls what is counted", {
  run: async (team) => (await team.check("counted", "get")).decision.effect,
  expected(model) {
    if (model.isStopped || model.counted === CALLS) return "deny";
    model.counted += 1;
    return "allow";
  },
});
const held = step("begins a call", {
  async run(team) {
    const { decision, reservation } = await team.check("holding", "hold");
    if (reservation !== undefined) team.reservations.push(reservation);
    return decision.effect;
  },
  expected(model) {
    if (model.isStopped || model.held === AT_ONCE) return "deny";
    model.held += 1;
    return "allow";
  },
});
const released = step("ends a call", {
  canRun: ({ held: count }) => count > 0,
  run: (team) => broker.releaseCall({ reservation: team.reservations.shift() ?? "none" }),
  expected(model) {
    model.held -= 1;
    return { released: true };
  },
});
const dropped = step("calls what a rule denies one team", {
  run: async (team) => (await team.check("writer", "drop")).decision.effect,
  expected: ({ isStopped }, name) => (isStopped || name === "team-a" ? "deny" : "allow"),
});
const written = step("calls what needs a person", {
  run: (team) => team.write(),
  expected(model) {
    if (model.isStopped) return "deny";
    if (model.isGranted) return "passed";
    model.isWaiting = true;
    return "waiting";
  },
});
const approved = step("is approved for its session", {
  canRun: ({ isWaiting }) => isWaiting,
  async run(team) {
    const { approval } = await cli.approveCall({ id: team.approvalId ?? "", scope: "session" });
    return [approval.state, await team.write()];
  },
  expected(model) {
    Object.assign(model, { isWaiting: false, isGranted: true });
    return ["approved", "passed"];
  },
});
const cancelled = step("is told no", {
  canRun: ({ isWaiting }) => isWaiting,
  async run(team) {
    const { approval } = await cli.cancelApproval({ id: team.approvalId ?? "" });
    team.approvalId = null;
    return approval.state;
  },
  expected(model) {
    model.isWaiting = false;
    return "cancelled";
  },
});
const stopped = step("is stopped", {
  canRun: ({ isStopped }) => !isStopped,
  run: (team) => team.stop(),
  expected(model) {
    // Pending approvals are cancelled, and grants end.
    Object.assign(model, { isStopped: true, isWaiting: false, isGranted: false });
  },
});
const resumed = step("goes on", {
  canRun: ({ isStopped }) => isStopped,
  run: (team) => team.resume(),
  expected(model) {
    model.isStopped = false;
  },
});

test("no decision, budget, approval, grant or stop of one team changes another's", async () => {
  let round = 0;
  const often = [counted, held, released, dropped, written, approved];
  const steps = [...often, ...often, ...often, cancelled, resumed, stopped];
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 40, size: "max" }), async (commands) => {
      round += 1;
      const [a, b] = await Promise.all(TEAMS.map((name) => Team.begin(name, round)));
      assert.ok(a !== undefined && b !== undefined);
      const real = { "team-a": a, "team-b": b };
      const fresh = (): Model => ({
        counted: 0,
        held: 0,
        isWaiting: false,
        isGranted: false,
        isStopped: false,
      });
      const model = { "team-a": fresh(), "team-b": fresh() };
      try {
        await fc.asyncModelRun(() => ({ model, real }), commands);
      } finally {
        for (const team of [a, b]) {
          await team.resume();
          for (const reservation of team.reservations) await broker.releaseCall({ reservation });
        }
      }
    }),
    { numRuns: 8, endOnFailure: true },
  );
});
