import { failuresOf } from "@switchyard/contracts/errors";
import { featureErrors } from "@switchyard/contracts/mcp-broker/mcp-features";
import type { AccessKind, Decision } from "@switchyard/contracts/policy/policy";
import { isRecord } from "@switchyard/contracts/json-record";
import { inspectResult } from "@switchyard/tool-provider/inspect-call";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { CallInWork } from "@switchyard/tool-provider/call-in-work";
import { replyOf } from "@switchyard/tool-provider/call-refusals";
import type { Decided } from "@switchyard/tool-provider/decision-cache";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import type { z } from "zod";
import type { CallDeps } from "../calls/call-tool.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import { noResult, requestFeature, type FeatureRequest } from "./request-feature.ts";

export type FeatureDeps = Pick<
  CallDeps,
  "gate" | "executions" | "calls" | "pool" | "sender" | "masks"
>;

/** The name of a feature in a request: a resource by its URI, a prompt by its name, the rest by its kind. */
export interface Feature {
  readonly kind: Exclude<AccessKind, "tool">;
  readonly server: string;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

const fail = failuresOf(featureErrors);

/**
 * Performs a request that is not a tool call: decide → record → work → inspect → finish. A request that cannot be recorded is not executed
 * (`policy_unavailable`), and an administrator's stop ends it (`stopped`).
 */
export async function performFeature<T>(
  { gate, executions, calls, masks }: Pick<FeatureDeps, "gate" | "executions" | "calls" | "masks">,
  request: { readonly feature: Feature; readonly method: string; readonly requester: Requester },
  work: (call: CallInWork) => Promise<T>,
): Promise<{ readonly decision: Decision; readonly result: T }> {
  const { feature, method, requester } = request;
  const { kind: access, server, name, args } = feature;
  const call = calls.begin({ requester, callId: undefined, server });
  let record = null;
  let isWithheld = false;
  try {
    const decided = await allow(gate, feature, call.requester);
    const { decision, principal, audit: decisionRef, signed } = decided;
    const ref = mcpToolRef(server, name);
    call.begin(principal, ref);
    const { onBehalfOf: caller, correlationId } = requester;
    const about = { access, method, caller, principal, ref, args, correlationId };
    record = await executions.beginRequest({ ...about, decision, decisionRef, signed });
    const result = await work(call);
    const inspected = await inspectResult(masks, result, decided);
    record.ended(inspected.withheld === null ? "result" : "withheld", inspected.findings);
    if (inspected.withheld !== null) {
      const reason = `The request was made, and its result is withheld: ${inspected.withheld}`;
      isWithheld = true;
      throw fail.denied(reason, { ...decision, effect: "deny", reason });
    }
    // Masks replace texts alone, so the content has the same form.
    return { decision, result: withAddresses(result, inspected.content) as T };
  } catch (error) {
    const failure = call.failureOf(error);
    if (!isWithheld) record?.failed(failure);
    throw replyOf(failure);
  } finally {
    call.end();
  }
}

/** The addresses of contents are those that were requested, whatever was found in them. */
function withAddresses(result: unknown, masked: unknown): unknown {
  if (masked === result || !isRecord(result) || !isRecord(masked)) return masked;
  const [before, after] = [result["contents"], masked["contents"]];
  if (!Array.isArray(before) || !Array.isArray(after)) return masked;
  const contents = after.map((one: unknown, at) => {
    const original: unknown = before[at];
    return isRecord(one) && isRecord(original) ? withAddress(one, original["uri"]) : one;
  });
  return { ...masked, contents };
}

function withAddress(one: Readonly<Record<string, unknown>>, uri: unknown) {
  return { ...one, uri };
}

/** One request for a feature, and the shape of its answer. */
export interface AskedFeature<S extends z.ZodType> extends FeatureRequest {
  readonly feature: Feature;
  readonly answer: S;
  /** The kind of answer, in words. */
  readonly what: string;
}

/** Requests what the policy allows from the instance of the caller's run or session, or from the server when that is shared. */
export async function askFeature<S extends z.ZodType>(
  deps: FeatureDeps,
  { member, asked }: { readonly member: PoolMember; readonly asked: AskedFeature<S> },
  requester: Requester,
): Promise<{ readonly decision: Decision; readonly result: z.output<S> }> {
  const { feature, answer, what, ...request } = asked;
  const { method } = request;
  return performFeature(deps, { feature, method, requester }, async (call) => {
    if (call.work === null) throw new TypeError("a request is decided before it is sent");
    const routed = await deps.pool.route(member, call.work.principal);
    const read = answer.safeParse(await requestFeature(deps.sender, routed, { ...request, call }));
    if (read.success) return read.data;
    throw noResult(feature.server, what);
  });
}

/** Throws `denied` when the policy refuses. */
export async function allow(
  gate: PolicyGate,
  { kind, server, name, args }: Feature,
  requester: Requester,
): Promise<Decided> {
  const decided = await gate.check({ kind, ref: mcpToolRef(server, name), args }, requester);
  const { decision } = decided;
  if (decision.effect === "allow") return decided;
  throw fail.denied(`The policy denies it: ${decision.reason}`, decision);
}
