import { randomUUID } from "node:crypto";
import { jsonLines } from "./cli-process.ts";
import { DriverError, turnText, type DriverOptions } from "./driver.ts";
import type { HostEvent } from "./host-protocol.ts";
import { launchOf } from "./launch-profiles.ts";
import { SERVER_NAME } from "./tool-bridge.ts";

type Json = Record<string, unknown>;

/** `claude -p` with its streams of JSON in and out. */
export async function driveClaude(options: DriverOptions): Promise<void> {
  const { session, start } = options;
  if (session !== null && (await turn(options, { id: session, isResumed: true }))) return;
  // It has not stored the session: a new one gets the whole conversation.
  if (!(await turn(options, { id: randomUUID(), isResumed: false })))
    throw new DriverError(`${start.cli} ended before it began`, true);
}

/** False when it ended before it had begun. */
async function turn(
  options: DriverOptions,
  { id, isResumed }: { readonly id: string; readonly isResumed: boolean },
): Promise<boolean> {
  const { start, spawn, report, onSession } = options;
  const { args, env } = await launchOf(options);
  const cli = await spawn([...args, isResumed ? "--resume" : "--session-id", id], env);
  try {
    const text = turnText(isResumed ? start.resumeText : start.firstText);
    const message = { role: "user", content: [{ type: "text", text }] };
    cli.child.stdin.write(`${JSON.stringify({ type: "user", message })}\n`);
    let hasBegun = false;
    for await (const line of jsonLines(cli.child)) {
      if (line["type"] === "system" && line["subtype"] === "init") {
        requireTools(line);
        hasBegun = true;
        await onSession(id, isResumed);
      } else if (line["type"] === "result") {
        if (!hasBegun) return false;
        report(endOf(line));
        return true;
      }
      const event = line["type"] === "stream_event" ? eventOf(line["event"] as Json) : null;
      if (event !== null) report(event);
    }
    if (!hasBegun && isResumed) return false;
    throw new DriverError(`claude ended in its turn: ${await cli.explain()}`, true);
  } finally {
    await cli.end();
  }
}

/** Without our server Claude continues to work and does not report it. */
function requireTools({ mcp_servers: servers }: Json): void {
  const all = Array.isArray(servers) ? (servers as Json[]) : [];
  const ours = all.find(({ name }) => name === SERVER_NAME);
  if (ours?.["status"] === "failed")
    throw new DriverError("claude cannot reach the tools of its run", true);
}

function eventOf(event: Json): HostEvent | null {
  if (event["type"] === "content_block_delta") {
    const delta = event["delta"] as Json;
    if (delta["type"] === "text_delta") return { type: "text", text: String(delta["text"]) };
    if (delta["type"] === "thinking_delta")
      return { type: "reasoning", text: String(delta["thinking"]) };
    return null;
  }
  if (event["type"] === "message_start")
    return usageOf((event["message"] as Json)["usage"], { isInput: true });
  return event["type"] === "message_delta" ? usageOf(event["usage"], { isInput: false }) : null;
}

/** The input is reported when a message begins, the output when it ends. */
function usageOf(usage: unknown, { isInput }: { readonly isInput: boolean }): HostEvent {
  const used = (usage ?? {}) as Json;
  const count = (name: string): number => Number(used[name] ?? 0);
  const cachedTokens = count("cache_read_input_tokens");
  if (!isInput)
    return { type: "usage", inputTokens: 0, cachedTokens: 0, outputTokens: count("output_tokens") };
  const inputTokens = count("input_tokens") + cachedTokens + count("cache_creation_input_tokens");
  return { type: "usage", inputTokens, cachedTokens, outputTokens: 0 };
}

/** A failure of the provider has the subtype "success", too. */
function endOf(result: Json): HostEvent {
  if (result["is_error"] !== true) return { type: "end", reason: "stop" };
  const status = Number(result["api_error_status"] ?? 0);
  const isRetryable = status === 429 || status >= 500;
  const said = String(result["result"] ?? result["terminal_reason"] ?? result["subtype"]);
  return { type: "failed", message: `claude: ${said}`, isRetryable };
}
