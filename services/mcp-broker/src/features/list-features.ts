import type { RequestMethod } from "@modelcontextprotocol/client";
import { failuresOf } from "@switchyard/contracts/errors";
import { featureErrors, MAX_LISTED_FEATURES } from "@switchyard/contracts/mcp-features";
import type { z } from "zod";
import type { AskedFor } from "@switchyard/service/tool-provider/policy-gate";
import type { Feature, FeatureGate } from "../server-requests/feature-gate.ts";
import { routed, sendRequest, type FeatureName, type RequestTarget } from "./send-request.ts";

/** One kind of list that a server has. */
export interface ListedFeature<S extends z.ZodType> {
  readonly method: RequestMethod;
  /** The key of the result under which the entries stand. */
  readonly key: string;
  readonly entry: S;
  readonly needs: FeatureName;
  readonly kind: Feature["kind"];
  readonly nameOf: (entry: z.output<S>) => string;
}

/** A cursor that never ends ends here. */
const MAX_PAGES = 64;

const fail = failuresOf(featureErrors);

/**
 * All pages of a list, cut at {@link MAX_LISTED_FEATURES} entries, and of them what the policy
 * allows the principal. An entry without the shape of the contract is left out by itself.
 */
export async function listFeature<S extends z.ZodType>(
  target: RequestTarget & { readonly gate: FeatureGate },
  listed: ListedFeature<S>,
  asked: AskedFor,
): Promise<{ entries: z.output<S>[]; more: boolean }> {
  // First, so that a refused token and a silent policy are told before the server is asked.
  const principal = await target.gate.identify(asked);
  const server = target.connection.entry.id;
  const question = { kind: listed.kind, server, nameOf: listed.nameOf };
  const { entries, more } = await readPages(await routed(target, principal), listed, asked);
  return { entries: await target.gate.filter({ ...question, entries }, asked), more };
}

async function readPages<S extends z.ZodType>(
  target: RequestTarget,
  { method, key, entry, needs }: ListedFeature<S>,
  asked: AskedFor,
): Promise<{ entries: z.output<S>[]; more: boolean }> {
  const entries: z.output<S>[] = [];
  const limitBytes = target.connection.entry.config?.maxResultBytes ?? 0;
  let bytes = 0;
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === null ? {} : { cursor };
    const result = await sendRequest(target, { method, params, needs, asked });
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
