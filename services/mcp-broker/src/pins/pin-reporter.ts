import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import {
  MAX_PINS_IN_EVENT,
  pinsApproved,
  pinsBlocked,
  pinsChanged,
  pinsHeld,
  type PinState,
} from "@switchyard/contracts/mcp-broker/mcp-pins";
import type { Log } from "@switchyard/service/log";
import type { z } from "zod";
import type { PinsWritten } from "./server-pins.ts";
import { stateOf } from "./pin-record.ts";

/** Reports changed pins: a log line and an event for each new state of tools. */
export function createPinReporter(options: {
  bus: Bus;
  log: Log;
  now: () => number;
}): (written: PinsWritten) => void {
  const { bus, log, now } = options;
  return ({ server, records, by }) => {
    for (const [state, group] of Map.groupBy(records, (record) => stateOf(record, record.digest))) {
      const tools = group
        .slice(0, MAX_PINS_IN_EVENT)
        .map(({ tool, name, digest }) => ({ tool, name, digest }));
      const at = new Date(now()).toISOString();
      const change = { server, tools, count: group.length, at };
      const facts = { server, by, count: group.length };
      const names = tools.slice(0, 10).map(({ name }) => name);
      publishChange(state, { change, facts, names }).catch((err: unknown) =>
        log.warn({ err }, "mcp event not published"),
      );
    }
  };

  function publishChange(state: PinState, news: PinNotice): Promise<unknown> {
    const { change, facts, names: tools } = news;
    const { server, by } = facts;
    switch (state) {
      case "pending":
        log.warn({ ...facts, tools }, "new mcp tools wait for approval");
        return publishEvent(bus, pinsHeld, { server }, change);
      case "changed":
        log.warn({ ...facts, tools }, "mcp tools changed after approval, held");
        return publishEvent(bus, pinsChanged, { server }, change);
      case "approved":
        log.info(facts, "mcp tools approved");
        return publishEvent(bus, pinsApproved, { server }, { ...change, by });
      case "blocked":
        log.warn({ ...facts, tools }, "mcp tools blocked");
        return publishEvent(bus, pinsBlocked, { server }, { ...change, by });
      default:
        return state satisfies never;
    }
  }
}

interface PinNotice {
  readonly change: z.input<typeof pinsHeld.payload>;
  readonly facts: { readonly server: string; readonly by: string | null; readonly count: number };
  readonly names: readonly string[];
}
