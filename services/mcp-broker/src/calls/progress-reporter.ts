import type { Progress } from "@modelcontextprotocol/client";
import { cutText } from "@switchyard/contracts/cut-text";
import type { CallProgress } from "@switchyard/contracts/mcp-broker/mcp-calls";

const MIN_GAP_MS = 100;
const MAX_MESSAGE = 500;

/**
 * Forwards the progress of one call, at most ten times a second: a server may report it as often as it likes, and live messages
 * are lossy anyway. The final report is never left out.
 */
export function createProgressReporter(options: {
  readonly call: Pick<CallProgress, "server" | "tool" | "callId">;
  readonly publish: (progress: CallProgress) => void;
  /** Removes secrets from the server's text. */
  readonly redact: (text: string) => string;
  readonly now: () => number;
}): (progress: Progress) => void {
  const { call, publish, redact, now } = options;
  let lastAt = Number.NEGATIVE_INFINITY;
  let hasReportedEnd = false;
  return ({ progress, total, message }) => {
    if (!Number.isFinite(progress) || (total !== undefined && !Number.isFinite(total))) return;
    const at = now();
    const isEnd = total !== undefined && progress >= total && !hasReportedEnd;
    if (at - lastAt < MIN_GAP_MS && !isEnd) return;
    lastAt = at;
    hasReportedEnd ||= isEnd;
    publish({
      ...call,
      progress,
      total: total ?? null,
      message: message === undefined ? null : cutText(redact(message), MAX_MESSAGE),
      at: new Date(at).toISOString(),
    });
  };
}
