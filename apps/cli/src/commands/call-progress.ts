import { randomBytes } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { subscribeLive } from "@switchyard/bus/events";
import { callProgress, type CallProgress } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { printableLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";

/** Writes down how far a call is, from now until it is stopped. */
export async function followProgress(
  bus: Bus,
  { terminal, caller }: { terminal: Terminal; caller: string },
): Promise<{ readonly progressId: string; stop(): void }> {
  const progressId = randomBytes(12).toString("hex");
  const live = subscribeLive(bus, callProgress, { owner: caller, progressId }, (progress) =>
    terminal.note(terminal.paintNote("dim", progressLine(progress))),
  );
  await bus.flush(); // the server has the subscription before the call is sent
  return { progressId, stop: () => live.stop() };
}

/** `42% of 12: indexing`, or the bare number of a server that knows no end. */
export function progressLine({ progress, total, message }: CallProgress): string {
  const share =
    total === null || total <= 0
      ? String(progress)
      : `${Math.min(100, Math.floor((progress / total) * 100))}% of ${total}`;
  return `progress ${share}${message === null ? "" : `: ${printableLine(message)}`}`;
}
