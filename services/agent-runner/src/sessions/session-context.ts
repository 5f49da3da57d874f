import type { SessionMessage } from "@switchyard/contracts/sessions";
import type { SaidBefore } from "../core/started-entry.ts";

/**
 * What of a history a run is given: the latest of what people and agents said, within a number of bytes,
 * from a user's message or a notice on, which a model hears as a user's. What tools answered then is not said again.
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
