import type { Bus } from "@switchyard/bus/connect";
import { publishEvent } from "@switchyard/bus/publish";
import {
  MAX_PINS_IN_EVENT,
  pinsApproved,
  pinsBlocked,
  pinsChanged,
  pinsHeld,
  type PinState,
} from "@switchyard/contracts/mcp-pins";
import type { Log } from "@switchyard/service/log";
import type { PinsWritten } from "./pin-book.ts";
import { stateOf, type PinRecord } from "./pin-record.ts";

/** Tells the outside what became of pins: a log line and an event for each state that tools came into. */
export function createPinReporter(options: {
  bus: Bus;
  log: Log;
  now: () => number;
}): (written: PinsWritten) => void {
  const { bus, log, now } = options;
  return ({ server, records, by }) => {
    const byState = Map.groupBy(records, (record) => stateOf(record, record.digest));
    for (const [state, group] of byState) {
      logState(log, state, { facts: { server, by, count: group.length }, tools: names(group) });
      const change = { server, ...toolsOf(group), at: new Date(now()).toISOString() };
      publish(state, { server }, { change, by })?.catch((err: unknown) =>
        log.warn({ err }, "mcp event not published"),
      );
    }
  };

  function publish(
    state: PinState,
    tokens: { server: string },
    { change, by }: { change: { server: string; at: string } & Tools; by: string | null },
  ): Promise<unknown> {
    switch (state) {
      case "pending":
        return publishEvent(bus, pinsHeld, tokens, change);
      case "changed":
        return publishEvent(bus, pinsChanged, tokens, change);
      case "approved":
        return publishEvent(bus, pinsApproved, tokens, { ...change, by });
      case "blocked":
        return publishEvent(bus, pinsBlocked, tokens, { ...change, by });
      default:
        return state satisfies never;
    }
  }
}

type Tools = ReturnType<typeof toolsOf>;

function toolsOf(records: readonly PinRecord[]) {
  const tools = records
    .slice(0, MAX_PINS_IN_EVENT)
    .map(({ tool, name, digest }) => ({ tool, name, digest }));
  return { tools, count: records.length };
}

function names(records: readonly PinRecord[]): string[] {
  return records.slice(0, 10).map(({ name }) => name);
}

function logState(
  log: Log,
  state: PinState,
  { facts, tools }: { facts: object; tools: string[] },
): void {
  switch (state) {
    case "approved":
      return log.info(facts, "mcp tools approved");
    case "pending":
      return log.warn({ ...facts, tools }, "new mcp tools wait for approval");
    case "changed":
      return log.warn({ ...facts, tools }, "mcp tools changed after approval, held");
    case "blocked":
      return log.warn({ ...facts, tools }, "mcp tools blocked");
    default:
      return state satisfies never;
  }
}
