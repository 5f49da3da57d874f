import type { Bus } from "@switchyard/bus/bus";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { inspectTools } from "../catalogue/inspect-tools.ts";
import { serverIdentity } from "../catalogue/server-identity.ts";
import type { PinView } from "../catalogue/tool-catalogue.ts";
import type { InspectListing } from "../catalogue/tool-reader.ts";
import { neighbourhoodOf, type Neighbour } from "../findings/neighbour-findings.ts";
import { ServerPins } from "./server-pins.ts";
import { createPinReporter } from "./pin-reporter.ts";
import { createPinStore } from "./pin-store.ts";
import { watchPins } from "./pin-watch.ts";

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
