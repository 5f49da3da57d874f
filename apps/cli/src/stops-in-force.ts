import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { listStops, scopeText, type Stop } from "@switchyard/contracts/policy/policy-budgets";
import { printableLine } from "./printable.ts";
import { count } from "./quantities.ts";
import type { Terminal } from "./terminal.ts";

const SHOWN = 3;
/** A note beside an answer does not delay the answer for long. */
const TIMEOUT_MS = 1_000;

/** The stops that the user may see; null when the policy service does not answer. */
export async function stopsInForce(bus: Bus): Promise<readonly Stop[] | null> {
  try {
    return (await client(bus, { listStops }).listStops({}, { timeoutMs: TIMEOUT_MS })).stops;
  } catch {
    return null;
  }
}

/** One line for each of the first stops, and one for the rest. */
export function stopLines(stops: readonly Stop[]): string[] {
  const lines = stops
    .slice(0, SHOWN)
    .map(({ scope, by, reason }) => printableLine(`${scopeText(scope)}, by ${by}: ${reason}`));
  const more = stops.length - lines.length;
  return more <= 0 ? lines : [...lines, `${count(more, "more stop")}; see: ./yard policy stops`];
}

/** Prints beside an answer what is stopped. */
export function noteStops(terminal: Terminal, stops: readonly Stop[] | null): void {
  for (const line of stopLines(stops ?? []))
    terminal.note(terminal.paintNote("yellow", `stopped: ${line}`));
}
