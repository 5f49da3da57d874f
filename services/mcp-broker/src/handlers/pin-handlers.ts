import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  approvePins,
  blockPins,
  diffPin,
  listPins,
  refreshTools,
} from "@switchyard/contracts/mcp-broker/mcp-pins";
import { canonicalJson } from "@switchyard/contracts/canonical-json";
import { storeFailureAs } from "@switchyard/service/store-error";
import { isRecord } from "@switchyard/contracts/json-record";
import type { Endpoint } from "@switchyard/bus/rpc-endpoint";
import { findRecord, type Refusal } from "../pins/decide-pins.ts";
import { approving, blocking, type ServerPins, type PinChange } from "../pins/server-pins.ts";
import { checkAdmin } from "./check-admin.ts";
import { pinDifferences } from "../pins/pin-diff.ts";
import { shownPin } from "../pins/pin-record.ts";
import { haveSameShape } from "../pins/tool-shape.ts";
import { errorText } from "../limits/call-failure.ts";
import type { ServerPool } from "../connection/server-pool.ts";

const fail = failuresOf({ ...approvePins.errors, ...blockPins.errors, ...diffPin.errors });

/** Answers the contracts of pins, on any broker: the truth is in Redis. Reading is for every client, changes are for admins. */
export function handlePins(
  service: Service,
  { pins, admins }: { pins: ServerPins; admins: readonly string[] },
): void {
  const adminOf = (verified: VerifiedCaller): string =>
    checkAdmin(admins, verified, "approve or block tools");
  const changed = async (server: string, by: string, change: PinChange): Promise<number> => {
    const done = await orUnavailable(() => pins.change(server, by, change));
    if ("refusal" in done) throw refused(server, done.refusal);
    return done.count;
  };

  service.handle(listPins, async ({ server, states, limit, after }) => {
    const records = await orUnavailable(() => pins.read(server));
    const sorted = [...records.values()].toSorted((a, b) => (a.tool < b.tool ? -1 : 1));
    const fitting = sorted
      .map((record) => shownPin(server, record))
      .filter(({ state, tool }) => (states?.includes(state) ?? true) && tool > (after ?? ""));
    return { pins: fitting.slice(0, limit), more: fitting.length > limit };
  });
  service.handle(approvePins, async ({ server, tools = null, override = [] }, context) => {
    const change = approving({ tools, override, by: adminOf(context) });
    return { approved: await changed(server, context.caller, change) };
  });
  service.handle(blockPins, async ({ server, tools }, context) => {
    const change = blocking({ tools, by: adminOf(context) });
    return { blocked: await changed(server, context.caller, change) };
  });
  service.handle(diffPin, async ({ server, tool }) => {
    const record = findRecord(await orUnavailable(() => pins.read(server)), tool);
    if (record === null) throw refused(server, { kind: "unknown", tools: [tool] });
    const { before, after } = await orUnavailable(() => pins.definitions(server, record));
    const [approved, listed] = [memberOf(before, "definition"), memberOf(after, "definition")];
    const found = pinDifferences(approved, listed);
    return {
      pin: shownPin(server, record),
      identityChanged:
        before !== null &&
        canonicalJson(memberOf(before, "identity")) !== canonicalJson(memberOf(after, "identity")),
      isReworded: found.differences.length > 0 && haveSameShape(approved, listed),
      differences: [...found.differences],
      omitted: found.omitted,
    };
  });
}

function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : null;
}

function refused(server: string, refusal: Refusal) {
  switch (refusal.kind) {
    case "unknown": {
      const tools = refusal.tools.slice(0, 20);
      return fail.unknown_pin(
        `MCP server ${server} never listed ${tools.map((tool) => JSON.stringify(tool)).join(", ")}; mcp.pins.list has what it listed.`,
        { server, tools },
      );
    }
    case "changed": {
      const { tool, digest } = refusal;
      return fail.pin_changed(
        `MCP server ${server} lists another definition of ${JSON.stringify(tool)}; look at the new one. Nothing was approved.`,
        { server, tool, digest },
      );
    }
    case "findings": {
      const { tool, codes } = refusal;
      return fail.findings_block(
        `The tool ${JSON.stringify(tool)} has hard findings (${codes.join(", ")}); who accepts them names them in override. Nothing was approved.`,
        { server, tool, codes },
      );
    }
    default:
      return refusal satisfies never;
  }
}

const orUnavailable = storeFailureAs(({ message }) =>
  fail.pins_unavailable(
    `The pins cannot be read or written now: ${message}; try again when Redis is up.`,
    { cause: message },
  ),
);

/** Answers `mcp.refresh` of one server. */
export function handleRefresh(
  service: Service,
  server: string,
  { pool, admins }: { pool: ServerPool; admins: readonly string[] },
): Endpoint {
  return service.handle(
    refreshTools,
    async (_request, context) => {
      checkAdmin(admins, context, "make the broker read tool lists");
      const connection = pool.find(server)?.connection;
      const session = connection?.session ?? null;
      if (connection === undefined || session === null)
        throw context.fail.server_down(
          `MCP server ${server} is not connected; mcp.connect connects it.`,
          {
            server,
          },
        );
      try {
        await session.refreshTools();
      } catch (error) {
        const cause = session.redact(errorText(error));
        throw context.fail.refresh_failed(
          `The tools of MCP server ${server} could not be read: ${cause}; those from before stay.`,
          { cause },
        );
      }
      return { toolCount: connection.catalogue.tools.length };
    },
    { server },
  );
}
