import type { RequestMethod } from "@modelcontextprotocol/client";
import { failuresOf, isError } from "@switchyard/contracts/errors";
import {
  featureErrors,
  listResources,
  MAX_LISTED_FEATURES,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { CallInWork } from "@switchyard/tool-provider/call-in-work";
import { replyOf } from "@switchyard/tool-provider/call-refusals";
import type { Requester } from "@switchyard/tool-provider/policy-gate";
import type { z } from "zod";
import type { JsonRecord } from "@switchyard/contracts/json-record";
import type { PoolMember } from "../connection/pool-member.ts";
import type { Feature, FeatureDeps } from "./perform-feature.ts";
import { requestFeature, type FeatureName } from "./request-feature.ts";

/** One kind of list that a server has. */
export interface ListedFeature<S extends z.ZodType> {
  readonly method: RequestMethod;
  /** The key of the result that holds the entries. */
  readonly key: string;
  readonly entry: S;
  readonly needs: FeatureName;
  readonly kind: Feature["kind"];
  readonly nameOf: (entry: z.output<S>) => string;
}

interface Listed<T> {
  readonly entries: T[];
  readonly more: boolean;
}

/** A list whose cursors never end stops after this many pages. */
const MAX_PAGES = 64;

const fail = failuresOf(featureErrors);

/**
 * All pages of a list, cut at {@link MAX_LISTED_FEATURES} entries, filtered to those that the policy allows the principal with at
 * least some arguments. An entry without the shape of the contract is left out by itself.
 */
export async function listFeature<S extends z.ZodType>(
  deps: FeatureDeps,
  { member, listed }: { readonly member: PoolMember; readonly listed: ListedFeature<S> },
  requester: Requester,
): Promise<Listed<z.output<S>>> {
  const server = member.connection.entry.id;
  const call = deps.calls.begin({ requester, callId: undefined, server });
  try {
    // Identified first, so that a refused token and an unavailable policy are reported before the server is called.
    const principal = await deps.gate.identify(requester);
    const routed = await deps.pool.route(member, principal);
    const { entries, more } = await readPages(deps, routed, { listed, call });
    const refs = entries.map((entry) => mcpToolRef(server, listed.nameOf(entry)));
    const allowed = await deps.gate.filter(refs, requester, listed.kind);
    return { entries: entries.filter((_, index) => allowed.has(refs[index]?.name ?? "")), more };
  } catch (error) {
    throw replyOf(error);
  } finally {
    call.end();
  }
}

async function readPages<S extends z.ZodType>(
  deps: FeatureDeps,
  member: PoolMember,
  { listed, call }: { readonly listed: ListedFeature<S>; readonly call: CallInWork },
): Promise<Listed<z.output<S>>> {
  const { method, key, entry, needs } = listed;
  const entries: z.output<S>[] = [];
  const limitBytes = member.connection.entry.config?.maxResultBytes ?? 0;
  let bytes = 0;
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params: JsonRecord = cursor === null ? {} : { cursor };
    const request = { method, params, needs, call };
    const result: JsonRecord | null = await requestFeature(deps.sender, member, request).catch(
      (error: unknown) => {
        // Items that the server listed before it refused a page stay.
        if (page > 0 && isError(error, listResources, "server_failed")) return null;
        throw error;
      },
    );
    if (result === null) return { entries, more: true };
    bytes += Buffer.byteLength(JSON.stringify(result));
    if (bytes > limitBytes) throw tooLarge(bytes, limitBytes);
    const found = Array.isArray(result[key]) ? (result[key] as unknown[]) : []; // each is checked below
    for (const value of found) {
      if (entries.length === MAX_LISTED_FEATURES) return { entries, more: true };
      const parsed = entry.safeParse(value);
      if (parsed.success) entries.push(parsed.data);
    }
    const next = result["nextCursor"];
    // Many servers write an empty cursor for "no more", and begin anew when they get it.
    if (typeof next !== "string" || next === "" || next === cursor) return { entries, more: false };
    cursor = next;
  }
  return { entries, more: true };
}

function tooLarge(bytes: number, limitBytes: number) {
  return fail.result_too_large(
    `The list has more than ${limitBytes} bytes; raise maxResultBytes of the server.`,
    { bytes, limitBytes },
  );
}
