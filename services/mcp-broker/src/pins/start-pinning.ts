import type { Bus } from "@switchyard/bus/bus";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { publishEvent } from "@switchyard/bus/publish";
import {
  MAX_PINS_IN_EVENT,
  pinsApproved,
  pinsBlocked,
  pinsChanged,
  pinsHeld,
  type PinState,
} from "@switchyard/contracts/mcp-broker/mcp-pins";
import type { z } from "zod";
import { listenerOf } from "@switchyard/service/redis-cluster";
import { inspectTools, serverIdentity } from "../catalogue/inspect-tools.ts";
import type { PinView } from "../catalogue/tool-catalogue.ts";
import type { InspectListing } from "../catalogue/tool-reader.ts";
import { neighbourhoodOf, type Neighbour } from "../findings/neighbour-findings.ts";
import { ServerPins, type PinsWritten } from "./server-pins.ts";
import { createPinStore, PINS_CHANNEL } from "./pin-store.ts";
import { stateOf } from "./pin-record.ts";

/** Creates the parts that inspect tools when they are listed and remember which are approved. */
export function startPinning(options: {
  bus: Bus;
  redis: Redis;
  log: Log;
  now: () => number;
  /** All servers and their tools, wherever they are connected. */
  servers: () => readonly { readonly id: string; readonly refs: readonly ToolRef[] }[];
  /** The states of a server's tools may have changed. */
  onView: (server: string) => void;
}) {
  const { bus, redis, log, now, servers, onView } = options;
  const pins = new ServerPins({
    store: createPinStore(redis),
    now,
    onWritten: createPinReporter({ bus, log, now }),
    onView,
    onTrouble: (server, err) => log.error({ server, err }, "mcp pins trouble"),
  });
  const watch = watchPins(redis, {
    onWritten: (server) => void pins.reload(server),
    onGap: () => pins.reloadAll(),
    onTrouble: (err) => log.warn({ err }, "cannot receive MCP pin changes"),
  });
  const pinState: PinView = (server, tool, pin) => pins.stateOf(server, tool, pin);
  const inspect: InspectListing = async (config, listing, signal) => {
    const { id: server, trust } = config;
    const identity = serverIdentity(config);
    const neighbours = neighbourhoodOf(server, neighboursIn(servers()));
    const approved = await pins.approvedTools(server);
    const context = { server, identity, neighbours, approved };
    const inspected = await inspectTools(listing, context, signal);
    await pins.see({ server, trust, identity, tools: inspected.tools });
    return inspected;
  };
  return { pins, pinState, inspect, stop: () => watch.close() };
}

function* neighboursIn(
  servers: readonly { readonly id: string; readonly refs: readonly ToolRef[] }[],
): Generator<Neighbour> {
  for (const { id, refs } of servers) for (const { tool } of refs) yield { server: id, tool };
}

/** Reports changed pins: a log line and an event for each new state of tools. */
function createPinReporter(options: {
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

/**
 * Receives which server's pins any broker wrote. Whenever a connection comes back, notifications may have been
 * missed.
 */
export function watchPins(
  redis: Redis,
  listener: { onWritten(server: string): void; onGap(): void; onTrouble(error: unknown): void },
) {
  const own = listenerOf(redis);
  const onGap = (): void => listener.onGap();
  const onTrouble = (error: unknown): void => listener.onTrouble(error);
  own.on("message", (_channel, server: string) => listener.onWritten(server));
  // The connection tries again by itself, and the log has the outage from the connection for commands.
  own.on("error", () => undefined);
  own.on("ready", () => {
    own.subscribe(PINS_CHANNEL).then(onGap, onTrouble);
  });
  own.connect().catch(onTrouble);
  // The connection for commands comes back at its own time, and reading needs that one.
  redis.on("ready", onGap);
  return {
    close(): void {
      redis.off("ready", onGap);
      own.disconnect();
    },
  };
}
