import { Readable, Writable } from "node:stream";
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type ClientContext,
  type NewSessionRequest,
  type NewSessionResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { HostEvent } from "./host-protocol.ts";
import { DriverError, turnText, type DriverOptions } from "./driver.ts";
import { launchOf } from "./launch-profiles.ts";
import { SERVER_NAME, type BridgeEntry } from "./tool-bridge.ts";

type SessionParams = Pick<NewSessionRequest, "cwd" | "mcpServers">;

/** Drives any agent of the Agent Client Protocol, version 1: Gemini CLI, opencode, and agents that an operator configures. */
export async function driveAcp(options: DriverOptions): Promise<void> {
  const { start, bridge, work, spawn, report, onSession } = options;
  const { args, env } = await launchOf(options);
  const cli = await spawn(args, env);
  const cost = new SessionCost(report);
  // A loaded session sends its old messages once more, which were published before.
  let isPrompted = false;
  const app = client({ name: "switchyard" })
    .onRequest(methods.client.session.requestPermission, ({ params }) => permit(params))
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === "usage_update") return cost.update(update.cost);
      const event = isPrompted ? eventOf(update) : null;
      if (event !== null) report(event);
    });
  const connection = app.connect(
    ndJsonStream(
      Writable.toWeb(cli.child.stdin),
      Readable.toWeb(cli.child.stdout) as ReadableStream<Uint8Array>,
    ),
  );
  try {
    const { agent } = connection;
    const { agentCapabilities = {} } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {},
      clientInfo: { name: "switchyard", version: "0.1.0" },
    });
    const params = { cwd: work, mcpServers: [acpServer(bridge)] };
    const resumed = await resume(agent, options.session, { params, agentCapabilities });
    const sessionId = resumed ?? (await begin(agent, params));
    await onSession(sessionId, resumed !== null);
    isPrompted = true;
    cost.begin(resumed !== null);
    const text = turnText(resumed === null ? start.firstText : start.resumeText);
    const answer = await agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text }],
    });
    const { stopReason } = answer;
    const usage = turnUsage(answer);
    if (usage !== null) report({ type: "usage", ...usage });
    report({ type: "end", reason: endOf(stopReason) });
  } catch (error) {
    const explained = await cli.explain();
    throw new DriverError(
      `${start.cli} failed: ${messageOf(error)}${explained === "" ? "" : ` (${explained})`}`,
      true,
    );
  } finally {
    connection.close();
    await cli.end();
  }
}

/** Our server as the protocol has it. */
export function acpServer({ command, args, env }: BridgeEntry) {
  return {
    name: SERVER_NAME,
    command,
    args: [...args],
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
  };
}

async function begin(agent: ClientContext, params: SessionParams): Promise<string> {
  const { sessionId } = await agent.request<NewSessionResponse>(methods.agent.session.new, params);
  return sessionId;
}

/** Loads the earlier session; null when there is none, or the agent cannot resume it. */
async function resume(
  agent: ClientContext,
  sessionId: string | null,
  {
    params,
    agentCapabilities: { loadSession = false, sessionCapabilities },
  }: {
    readonly params: SessionParams;
    readonly agentCapabilities: {
      loadSession?: boolean;
      sessionCapabilities?: { resume?: unknown };
    };
  },
): Promise<string | null> {
  if (sessionId === null) return null;
  try {
    if (typeof sessionCapabilities?.resume === "object" && sessionCapabilities.resume !== null)
      await agent.request(methods.agent.session.resume, { sessionId, ...params });
    else if (loadSession) await agent.request(methods.agent.session.load, { sessionId, ...params });
    else return null;
    return sessionId;
  } catch {
    return null; // the agent has not stored it: a new session gets the whole conversation
  }
}

/** Our own tools are decided elsewhere, for each call; nothing else is allowed. */
function permit({ toolCall, options }: RequestPermissionRequest): RequestPermissionResponse {
  const { kind, title, name } = toolCall;
  const isOurs =
    (kind ?? "other") === "other" && `${name ?? ""} ${title ?? ""}`.includes(SERVER_NAME);
  const wanted = isOurs ? "allow_once" : "reject_once";
  const option = options.find((one) => one.kind === wanted);
  return option === undefined
    ? { outcome: { outcome: "cancelled" } }
    : { outcome: { outcome: "selected", optionId: option.optionId } };
}

function eventOf(update: SessionUpdate): HostEvent | null {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
    case "agent_thought_chunk": {
      const { content } = update;
      if (content.type !== "text") return null;
      const type = update.sessionUpdate === "agent_message_chunk" ? "text" : "reasoning";
      return { type, text: content.text };
    }
    default:
      return null; // the tool server publishes the calls
  }
}

function endOf(reason: StopReason): "stop" | "length" | "refused" {
  switch (reason) {
    case "end_turn":
      return "stop";
    case "max_tokens":
    case "max_turn_requests":
      return "length";
    case "refusal":
      return "refused";
    case "cancelled":
      throw new DriverError("the agent reported its turn as cancelled", true);
    default:
      return reason satisfies never;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : JSON.stringify(error);
}

// Usage as agents of the Agent Client Protocol report it. The protocol has the costs of a session (`usage_update`) and a draft for
// the tokens of a turn (`usage` of the answer to a prompt); Gemini CLI reports its tokens in `_meta.quota`.

type Used = Omit<HostEvent & { type: "usage" }, "type">;

const Tokens = z.number().nonnegative().finite();

const Answer = z.object({
  usage: z
    .object({
      inputTokens: Tokens,
      outputTokens: Tokens,
      cachedReadTokens: Tokens.nullish(),
      cachedWriteTokens: Tokens.nullish(),
      thoughtTokens: Tokens.nullish(),
    })
    .nullish()
    .catch(null),
  _meta: z
    .object({
      quota: z.object({
        token_count: z.object({ input_tokens: Tokens, output_tokens: Tokens }),
      }),
    })
    .nullish()
    .catch(null),
});

/** Reads the tokens from the answer to a prompt; null when it contains none. */
export function turnUsage(answer: unknown): Used | null {
  const { data } = Answer.safeParse(answer);
  const usage = data?.usage;
  if (usage) {
    const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens, thoughtTokens } = usage;
    const cachedTokens = cachedReadTokens ?? 0;
    return {
      // Each kind is reported separately: the sum of all is `totalTokens`.
      inputTokens: inputTokens + cachedTokens + (cachedWriteTokens ?? 0),
      cachedTokens,
      outputTokens: outputTokens + (thoughtTokens ?? 0),
    };
  }
  const count = data?.["_meta"]?.quota.token_count;
  if (!count) return null;
  return { inputTokens: count.input_tokens, cachedTokens: 0, outputTokens: count.output_tokens };
}

/**
 * The reported cost of a session is a growing total: only the increase since the last report is passed on, and for a resumed
 * session nothing from before.
 */
export class SessionCost {
  readonly #report: (event: HostEvent) => void;
  #hasBegun = false;
  /** Null: a resumed session has reported no cost yet. */
  #saidUsd: number | null = 0;

  constructor(report: (event: HostEvent) => void) {
    this.#report = report;
  }

  /** The session's own turn begins. */
  begin(isResumed: boolean): void {
    this.#hasBegun = true;
    if (isResumed && this.#saidUsd === 0) this.#saidUsd = null;
  }

  /** Other currencies are not counted. */
  update(cost: { readonly amount: number; readonly currency: string } | null | undefined): void {
    if (!cost || cost.currency !== "USD" || !Number.isFinite(cost.amount)) return;
    const { amount } = cost;
    const before = this.#saidUsd ?? amount;
    this.#saidUsd = Math.max(before, amount);
    if (this.#hasBegun && amount > before)
      this.#report({
        type: "usage",
        inputTokens: 0,
        cachedTokens: 0,
        outputTokens: 0,
        costUsd: amount - before,
      });
  }
}
