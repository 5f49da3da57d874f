import type { SessionMessage } from "@switchyard/contracts/agent-runner/sessions";
import type { SaidBefore } from "../core/started-entry.ts";

/**
 * Selects the part of a history that a run is given: the latest texts of people and agents, within a number of bytes, beginning
 * with a user's message or a notice, which a model reads as a user's. Results of tools are left out.
 */
export function contextOf(
  history: readonly Pick<SessionMessage, "role" | "text" | "files">[],
  maxBytes: number,
): SaidBefore[] {
  const said: SaidBefore[] = [];
  let bytes = 0;
  for (const { role, text, files } of history.toReversed()) {
    if (role === "tool") continue;
    bytes += Buffer.byteLength(text);
    if (bytes > maxBytes) break;
    said.push({ role, text, ...(files === undefined ? {} : { files }) });
  }
  const inOrder = said.toReversed();
  const first = inOrder.findIndex(({ role }) => role !== "assistant");
  return first < 0 ? [] : inOrder.slice(first);
}
