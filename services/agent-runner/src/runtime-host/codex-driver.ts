import { jsonLines, type CliProcess } from "./cli-process.ts";
import { DriverError, turnText, type DriverOptions } from "./driver.ts";
import type { HostEvent } from "./host-protocol.ts";
import { launchOf } from "./launch-profiles.ts";

type Json = Record<string, unknown>;

/** `codex app-server`: JSON-RPC, a message a line, without the field "jsonrpc". */
export async function driveCodex(options: DriverOptions): Promise<void> {
  const { start, work, report, onSession } = options;
  const { args, env } = await launchOf(options);
  const cli = await options.spawn(args, env);
  const over = Promise.withResolvers<HostEvent>();
  const rpc = openRpc(cli, {
    onMessage: (method, params) => {
      const event = eventOf(method, params);
      if (event?.type === "end" || event?.type === "failed") over.resolve(event);
      else if (event !== null) report(event);
    },
    onEnd: (error) => over.reject(error),
  });
  over.promise.catch(() => {}); // a request that is under way rejects, too
  try {
    const clientInfo = { name: "switchyard", title: "Switchyard", version: "0.1.0" };
    await rpc.request("initialize", { clientInfo, capabilities: { experimentalApi: true } });
    rpc.notify("initialized", {});
    const resumed = await resume(rpc, options);
    const thread =
      resumed ??
      threadOf(await rpc.request("thread/start", { cwd: work, ...modelOf(start.model) }));
    await onSession(thread, resumed !== null);
    const text = turnText(resumed === null ? start.firstText : start.resumeText);
    await rpc.request("turn/start", {
      threadId: thread,
      input: [{ type: "text", text, text_elements: [] }],
    });
    const end = await over.promise;
    if (end.type === "failed") throw new DriverError(end.message, end.isRetryable);
    report(end);
  } finally {
    await cli.end();
  }
}

async function resume(
  rpc: Rpc,
  { session, work, start }: Pick<DriverOptions, "session" | "work" | "start">,
): Promise<string | null> {
  if (session === null) return null;
  try {
    await rpc.request("thread/resume", { threadId: session, cwd: work, ...modelOf(start.model) });
    return session;
  } catch (error) {
    if (error instanceof RpcRefusal) return null; // Codex has not stored it: a new session gets the whole conversation
    throw error;
  }
}

function modelOf(model: string | null): { model?: string } {
  return model === null ? {} : { model };
}

function threadOf(reply: Json): string {
  const id = (reply["thread"] as Json | undefined)?.["id"];
  if (typeof id === "string") return id;
  throw new DriverError("codex began no thread: this version is not known here", false);
}

function eventOf(method: string, params: Json): HostEvent | null {
  switch (method) {
    case "item/agentMessage/delta":
      return { type: "text", text: textOf(params["delta"]) };
    case "item/reasoning/summaryTextDelta":
      return { type: "reasoning", text: textOf(params["delta"]) };
    case "thread/tokenUsage/updated": {
      const last = (params["tokenUsage"] as Json | undefined)?.["last"] as Json | undefined;
      if (last === undefined) return null;
      return {
        type: "usage",
        inputTokens: Number(last["inputTokens"] ?? 0),
        cachedTokens: Number(last["cachedInputTokens"] ?? 0),
        outputTokens: Number(last["outputTokens"] ?? 0),
      };
    }
    case "turn/completed": {
      const { status, error } = (params["turn"] ?? {}) as { status?: unknown; error?: unknown };
      if (status === "completed") return { type: "end", reason: "stop" };
      const said =
        (error as Json | null | undefined)?.["message"] ?? `its turn is ${String(status)}`;
      return { type: "failed", message: `codex: ${textOf(said)}`, isRetryable: true };
    }
    default:
      return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/** Codex answered a request with an error. */
class RpcRefusal extends DriverError {}

interface Rpc {
  request(method: string, params: Json): Promise<Json>;
  notify(method: string, params: Json): void;
}

function openRpc(
  cli: CliProcess,
  on: {
    readonly onMessage: (method: string, params: Json) => void;
    readonly onEnd: (error: Error) => void;
  },
): Rpc {
  const open = new Map<number, PromiseWithResolvers<Json>>();
  let last = 0;
  const write = (message: Json): void => void cli.child.stdin.write(`${JSON.stringify(message)}\n`);
  const read = async (): Promise<void> => {
    for await (const { id, method, params, result, error } of jsonLines(cli.child)) {
      if (typeof method !== "string") {
        const waiting = open.get(Number(id));
        open.delete(Number(id));
        const said = (error as Json | undefined)?.["message"];
        if (error === undefined) waiting?.resolve((result ?? {}) as Json);
        else waiting?.reject(new RpcRefusal(`codex refused a request: ${String(said)}`, true));
      } else if (id === undefined) on.onMessage(method, (params ?? {}) as Json);
      else write({ id, ...answerTo(method) });
    }
    const ended = new DriverError(`codex ended in its turn: ${await cli.explain()}`, true);
    for (const { reject } of open.values()) reject(ended);
    on.onEnd(ended);
  };
  void read().catch(on.onEnd);
  return {
    notify: (method, params) => write({ method, params }),
    request(method, params) {
      last += 1;
      const reply = Promise.withResolvers<Json>();
      open.set(last, reply);
      write({ id: last, method, params });
      return reply.promise;
    },
  };
}

/** Answers the requests of Codex to its host: only our own tools are allowed, and Codex sends no request about those. */
function answerTo(method: string): Json {
  if (method === "mcpServer/elicitation/request")
    return { result: { action: "decline", content: null, _meta: null } };
  if (method.endsWith("/requestApproval")) return { result: { decision: "decline" } };
  return { error: { code: -32601, message: "not here" } };
}
