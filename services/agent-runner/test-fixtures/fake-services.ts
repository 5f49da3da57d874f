import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import type { CallContext } from "@switchyard/bus/handler";
import { serve } from "@switchyard/bus/serve";
import { AgentDefinition, getAgent } from "@switchyard/contracts/skill-importer/agents";
import { callTool, listTools, type ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import { cancelCall } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { admitCall, settleCall } from "@switchyard/contracts/policy/approval-admission";
import { checkPolicy, filterPolicy, type Decision } from "@switchyard/contracts/policy/policy";
import { listStops, type Stop } from "@switchyard/contracts/policy/policy-budgets";
import { grantRun } from "@switchyard/contracts/policy/policy-grants";
import { skillCatalogue } from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { SkillRecord } from "@switchyard/contracts/skill-importer/skill-record";
import {
  getSkill,
  renderSkill,
  type SkillSummary,
} from "@switchyard/contracts/skill-importer/skills";
import type { Plan } from "@switchyard/contracts/agent-runner/plan";
import { canonicalToolName, mcpToolDescription } from "@switchyard/contracts/tool-names";
import type { z } from "zod";

/** The services around a runner, as small as they can be and real: each answers on its own connection. */
export interface FakeServices {
  readonly agents: Map<string, AgentDefinition>;
  readonly skills: Map<string, TestSkill>;
  /** Tools of the server `lab`, by raw name. */
  readonly tools: Map<string, TestTool>;
  /** Input schemas of tools, by raw name; without one a tool takes any object. */
  readonly schemas: Map<string, Record<string, unknown>>;
  /** The number of executions of each call id, which is one for a broker that stores results. */
  readonly executed: Map<string, number>;
  /** Every request that came for a call id. */
  readonly requested: Map<string, number>;
  /** The epochs that a call came with, one for each request. */
  readonly epochs: Map<string, (number | undefined)[]>;
  /** The run token that came last for a call id. */
  readonly tokens: Map<string, string | undefined>;
  /** Calls that a runner wanted to be stopped. */
  readonly cancelled: string[];
  readonly grants: z.output<typeof grantRun.request>[];
  /** The active stops: while there is one, no run gets a token or a list of tools. */
  readonly stops: Stop[];
  /** Called before an answer is sent. */
  readonly hooks: {
    getAgent?: (name: string) => Promise<void>;
    grant?: (runId: string) => Promise<void>;
    /** Returns why a run gets no token; left out: it gets one. */
    refuse?: (runId: string) => string | undefined;
    /** Returns the policy's decision about a call of the runner's own tool; left out: yes. */
    check?: (args: Record<string, unknown>) => Decision;
    /** Returns whether any call of the runner's own tool could pass; left out: yes. */
    mayEver?: (tool: string) => boolean;
    /** Returns the state of a call that a person is to approve. */
    admit?: (callId: string | undefined) => z.input<typeof admitCall.reply>;
  };
  /** Approvals whose call was reported as over; with the reason when it was not made. */
  readonly settled: string[];
  /** The skills that were rendered, with the requested version. */
  readonly rendered: { readonly name: string; readonly digest: string | undefined }[];
  /** Stops one service; its callers see it as a process that ended. */
  pause(name: ServiceName): Promise<void>;
  resume(name: ServiceName): Promise<void>;
  stop(): Promise<void>;
}

export type ServiceName = "policy" | "importer" | "broker";
export type ToolReply = z.input<typeof callTool.reply>;
export type TestTool = (
  args: Record<string, unknown>,
  context: CallContext<typeof callTool>,
) => string | Promise<string> | ToolReply;

export interface TestSkill {
  readonly disallowedTools?: string[];
  readonly summary: SkillSummary;
  readonly text: string;
  readonly plan: Plan | null;
  /** The author's settings: a run of its own, by which agent, or a tool that the skill maps to. */
  readonly context?: "fork";
  readonly agent?: string;
  readonly dispatch?: string;
}

const NO_RECORD: SkillRecord = {
  displayName: null,
  license: null,
  compatibility: null,
  version: null,
  author: null,
  homepage: null,
  model: null,
  effort: null,
  context: null,
  agent: null,
  background: null,
  shell: null,
  paths: [],
  disallowedTools: [],
  hooks: null,
  openclaw: null,
  unknown: {},
};

export const DIGEST = `sha256:${"a".repeat(64)}`;

/** The window of an agent whose list of skills is to be cut. */
export const SMALLEST_WINDOW = 1_024;

export const ALLOWED: Decision = {
  effect: "allow",
  rule: "tests",
  reason: "tests may",
  policyDigest: DIGEST,
};
export const DENIED: Decision = {
  effect: "deny",
  rule: "no-writes",
  reason: "rule no-writes denies it: tests never write",
  policyDigest: DIGEST,
};

/** Name of a tool of the server `lab`, as agents use it. */
export function labTool(tool: string): string {
  return canonicalToolName("lab", tool);
}

export function agent(name: string, fields: Partial<AgentDefinition> = {}): AgentDefinition {
  return AgentDefinition.parse({
    name,
    description: `agent ${name}`,
    source: "project",
    digest: DIGEST,
    model: "scripted/plan",
    systemPrompt: "You are a test.",
    tools: null,
    skills: [],
    maxSteps: 20,
    temperature: null,
    plan: null,
    ...fields,
  });
}

/** An agent whose plan has only an answer. */
export function answering(
  name: string,
  answer: string,
  fields: Partial<AgentDefinition> = {},
): AgentDefinition {
  return agent(name, { ...fields, plan: { steps: [], answer } });
}

export function skill(name: string, fields: Partial<SkillSummary & TestSkill> = {}): TestSkill {
  return {
    text: fields.text ?? `<skill_content name="${name}">Do ${name}.</skill_content>`,
    plan: fields.plan ?? null,
    ...(fields.disallowedTools === undefined ? {} : { disallowedTools: fields.disallowedTools }),
    ...(fields.context === undefined ? {} : { context: fields.context }),
    ...(fields.agent === undefined ? {} : { agent: fields.agent }),
    ...(fields.dispatch === undefined ? {} : { dispatch: fields.dispatch }),
    summary: {
      name,
      description: fields.description ?? `does ${name}`,
      digest: DIGEST,
      path: `skills/${name}`,
      userInvocable: fields.userInvocable ?? true,
      modelInvocable: fields.modelInvocable ?? true,
      allowedTools: fields.allowedTools ?? null,
      argumentHint: null,
      diagnostics: [],
    },
  };
}

/** The address that a service connects to, and its secret when the server requires one. */
export interface ServiceServers {
  readonly url: string;
  /** NKey seeds by user; without them the server must let everyone in. */
  readonly seeds?: ReadonlyMap<string, string>;
}

/** Starts policy, broker and importer. */
export async function startFakeServices(servers: ServiceServers): Promise<FakeServices> {
  const state = {
    agents: new Map<string, AgentDefinition>(),
    skills: new Map<string, TestSkill>(),
    tools: new Map<string, TestTool>(),
    schemas: new Map<string, Record<string, unknown>>(),
    executed: new Map<string, number>(),
    requested: new Map<string, number>(),
    epochs: new Map<string, (number | undefined)[]>(),
    tokens: new Map<string, string | undefined>(),
    cancelled: [] as string[],
    settled: [] as string[],
    hooks: {} as FakeServices["hooks"],
    rendered: [] as { name: string; digest: string | undefined }[],
    grants: [] as z.output<typeof grantRun.request>[],
    stops: [] as Stop[],
  };
  const starts: Record<ServiceName, () => Promise<() => Promise<void>>> = {
    policy: () => startPolicy(servers, state),
    importer: () => startImporter(servers, state),
    broker: () => startBroker(servers, state),
  };
  const stops = new Map<ServiceName, () => Promise<void>>();
  const resume = async (name: ServiceName): Promise<void> => {
    stops.set(name, await starts[name]());
  };
  const pause = async (name: ServiceName): Promise<void> => {
    await stops.get(name)?.();
    stops.delete(name);
  };
  await Promise.all([resume("policy"), resume("importer"), resume("broker")]);
  return {
    ...state,
    pause,
    resume,
    async stop() {
      await Promise.all([...stops.keys()].map(pause));
    },
  };
}

/** A bus as the given user. */
export function connectAs({ url, seeds }: ServiceServers, user: string): Promise<Bus> {
  const seed = seeds?.get(user);
  return connectBus({
    servers: url,
    user,
    ...(seed === undefined ? {} : { nkeySeed: () => seed }),
  });
}

async function startService(servers: ServiceServers, user: string) {
  const bus = await connectAs(servers, user);
  const service = serve(bus, {
    name: user,
    version: "0.0.0",
    description: `test ${user}`,
    onFault: ({ error }) => {
      throw error;
    },
  });
  return { service, stop: () => bus.drain(2_000) };
}

async function startPolicy(
  servers: ServiceServers,
  { grants, hooks, settled, stops }: Pick<FakeServices, "grants" | "hooks" | "settled" | "stops">,
) {
  const { service, stop } = await startService(servers, "policy");
  service.handle(checkPolicy, ({ args }) => ({
    decision: hooks.check?.(args) ?? ALLOWED,
    principal: { user: "cli", agent: "test", runId: "test" },
  }));
  service.handle(filterPolicy, ({ tools }) => ({
    allowed: tools.map(({ name }) => name).filter((name) => hooks.mayEver?.(name) ?? true),
    policyDigest: DIGEST,
  }));
  service.handle(admitCall, ({ callId }) => {
    const reply = hooks.admit?.(callId);
    if (reply === undefined) throw new TypeError("no test defines the result of the call");
    return reply;
  });
  service.handle(settleCall, ({ approvalId, outcome }) => {
    settled.push(outcome === "executed" ? approvalId : `${approvalId} ${outcome}`);
    return { settled: true };
  });
  service.handle(listStops, () => ({ stops }));
  service.handle(grantRun, async (request, { fail }) => {
    grants.push(request);
    await hooks.grant?.(request.runId);
    const [inForce] = stops;
    if (inForce !== undefined) throw fail.stopped("stopped", inForce);
    const refused = hooks.refuse?.(request.runId);
    if (refused !== undefined) throw fail.may_not_start(refused, request);
    return {
      token: `token-${request.runId}-${grants.length}`,
      expiresAt: new Date(Date.now() + request.ttlSeconds * 1_000).toISOString(),
      policyDigest: DIGEST,
    };
  });
  return stop;
}

async function startImporter(
  servers: ServiceServers,
  {
    agents,
    skills,
    rendered,
    hooks,
  }: Pick<FakeServices, "agents" | "skills" | "rendered" | "hooks">,
) {
  const { service, stop } = await startService(servers, "importer");
  service.handle(getAgent, async ({ name }, { fail }) => {
    await hooks.getAgent?.(name);
    const found = agents.get(name);
    if (found === undefined)
      throw fail.unknown_agent(`no agent ${name}`, { name, known: [...agents.keys()] });
    return { agent: found };
  });
  service.handle(skillCatalogue, ({ contextWindow, without = [] }) => {
    const all = [...skills.values()].filter(
      ({ summary }) => summary.modelInvocable && !without.includes(summary.name),
    );
    // Enough to see that the window arrives: the smallest has room for one skill.
    const offered = contextWindow === SMALLEST_WINDOW ? all.slice(0, 1) : all;
    const dropped = all.slice(offered.length).map(({ summary }) => summary.name);
    const lines = offered.map(({ summary }) => `${summary.name}: ${summary.description}`);
    const listed = offered.map(({ summary: { name, digest } }) => ({
      name,
      digest,
      tokens: 10,
      shortened: false,
    }));
    const text = lines.length === 0 ? "" : `<available_skills>${lines.join()}</available_skills>`;
    return { text, budgetTokens: 1_000, tokens: 10, wholeTokens: 10, listed, dropped };
  });
  service.handle(getSkill, ({ name }, { fail }) => {
    const found = skills.get(name);
    if (found === undefined)
      throw fail.unknown_skill(`no skill ${name}`, { name, known: [...skills.keys()] });
    const { summary, plan, context = null, agent: forkAgent = null, dispatch } = found;
    const record = { ...NO_RECORD, context, agent: forkAgent };
    const whole = { ...summary, body: "", arguments: [], plan, record };
    return { skill: dispatch === undefined ? whole : { ...whole, dispatch: { tool: dispatch } } };
  });
  service.handle(renderSkill, ({ name, digest: asked, arguments: line }, { fail }) => {
    rendered.push({ name, digest: asked });
    const found = skills.get(name);
    if (found === undefined)
      throw fail.unknown_skill(`no skill ${name}`, { name, known: [...skills.keys()] });
    const text = line === "" ? found.text : `${found.text}\n\nARGUMENTS: ${line}`;
    const { digest, allowedTools } = found.summary;
    const { plan, disallowedTools } = found;
    return { name, digest, text, allowedTools, disallowedTools, plan, warnings: [] };
  });
  return stop;
}

async function startBroker(
  servers: ServiceServers,
  {
    tools,
    schemas,
    executed,
    requested,
    epochs,
    tokens,
    cancelled,
    stops,
  }: Pick<
    FakeServices,
    "tools" | "schemas" | "executed" | "requested" | "epochs" | "tokens" | "cancelled" | "stops"
  >,
) {
  const { service, stop } = await startService(servers, "broker");
  const stored = new Map<string, Promise<ToolReply>>();
  service.handle(listTools, (_request, { fail }) => {
    const [inForce] = stops;
    if (inForce !== undefined) throw fail.run_stopped("stopped", inForce);
    const listed = [...tools.keys()].map((tool) => toolInfo(tool, schemas.get(tool)));
    return { tools: listed, failures: [] };
  });
  service.handle(
    callTool,
    async ({ tool, args, callId = "", epoch, token }, context) => {
      requested.set(callId, (requested.get(callId) ?? 0) + 1);
      epochs.set(callId, [...(epochs.get(callId) ?? []), epoch]);
      tokens.set(callId, token);
      const known = stored.get(callId);
      if (known !== undefined) return { ...(await known), replayed: true };
      const run = [...tools.entries()].find(([raw]) => labTool(raw) === tool)?.[1];
      if (run === undefined) throw context.fail.denied(DENIED.reason, DENIED);
      executed.set(callId, (executed.get(callId) ?? 0) + 1);
      const reply = Promise.resolve(run(args, context)).then(replyOf);
      stored.set(callId, reply);
      reply.catch(() => stored.delete(callId));
      return reply;
    },
    { server: "lab" },
  );
  service.handle(
    cancelCall,
    ({ callId }) => {
      cancelled.push(callId);
      return { cancelled: true };
    },
    { server: "lab" },
  );
  return stop;
}

function toolInfo(tool: string, schema: Record<string, unknown> = {}): ToolInfo {
  return {
    name: labTool(tool),
    server: "lab",
    tool,
    description: mcpToolDescription("lab", `tool ${tool}`),
    inputSchema: { ...schema, type: "object" },
  };
}

function replyOf(result: string | ToolReply): ToolReply {
  if (typeof result !== "string") return result;
  return {
    content: [{ type: "text", text: result }],
    isError: false,
    text: result,
    decision: ALLOWED,
    durationMs: 1,
    replayed: false,
  };
}
