import { ProtocolError, ProtocolErrorCode, type Result } from "@modelcontextprotocol/client";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { ServiceError } from "@switchyard/contracts/errors";
import { completeModel } from "@switchyard/contracts/agent-runner/model-completion";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import type { ServerRequest } from "../connection/session-hooks.ts";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { RateLimit } from "./rate-limit.ts";
import { allowedPrincipals, distinctRequesters, type RequestOrigins } from "./request-origins.ts";
import { readSampling, type SamplingRequest } from "./sampling-request.ts";

export interface SamplingDeps {
  readonly bus: Bus;
  readonly gate: PolicyGate;
  readonly origins: RequestOrigins;
}

/** The code of a person's refusal in the protocol's own examples; to the server a refusal by rule is the same. */
const REFUSED = -1;

/**
 * Answers `sampling/createMessage` with one call of the configured model, when the policy allows it for every principal on whose
 * behalf the server may be acting. Rejects with the error for the server.
 */
export async function sample(
  deps: SamplingDeps,
  { config, rate }: { readonly config: ServerConfig; readonly rate: RateLimit },
  request: ServerRequest,
): Promise<Result> {
  const { sampling: limits } = config;
  const wanted = readSampling(request.params, limits.maxTokens);
  if ("problem" in wanted)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `sampling refused: ${wanted.problem}`);
  const requesters = await allowedRequesters(deps, config, wanted);
  if (!rate.take()) throw refused(`more than ${limits.perMinute} samplings a minute; retry later`);
  const [first] = requesters;
  const { correlationId, traceparent } = first;
  const deadline = Math.min(...requesters.map((requester) => requester.deadline));
  try {
    const reply = await client(deps.bus, { completeModel }).completeModel(wanted.completion, {
      deadline,
      correlationId,
      traceparent,
      signal: request.signal,
    });
    return {
      model: reply.model,
      role: "assistant",
      content: { type: "text", text: reply.text },
      stopReason: reply.stopReason,
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      `the model gave no answer: ${error.code}`,
    );
  }
}

/** All requesters on whose behalf the server may be acting, each allowed; else the request is refused. */
async function allowedRequesters(
  { gate, origins }: SamplingDeps,
  config: ServerConfig,
  wanted: SamplingRequest,
): Promise<[Requester, ...Requester[]]> {
  const [first, ...others] = distinctRequesters(origins.of(config));
  const server = config.id;
  if (first === undefined) throw refused("it belongs to no request that is in work");
  const ref = mcpToolRef(server, "sampling");
  const question = { kind: "sampling", ref, args: wanted.policyArgs } as const;
  if ((await allowedPrincipals(gate, question, [first, ...others])) === null)
    throw refused("the policy does not allow it");
  return [first, ...others];
}

function refused(reason: string): ProtocolError {
  return new ProtocolError(REFUSED, `sampling refused: ${reason}`);
}
