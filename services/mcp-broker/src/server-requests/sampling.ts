import { ProtocolError, ProtocolErrorCode, type Result } from "@modelcontextprotocol/client";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  completeModel,
  CompletionPart,
  MAX_COMPLETION_TOKENS,
} from "@switchyard/contracts/agent-runner/model-completion";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import { z } from "zod";
import type { ServerRequest } from "../connection/session-hooks.ts";
import type { RateLimit } from "./rate-limit.ts";
import { allowedPrincipals, distinctRequesters, type RequestOrigins } from "./request-origins.ts";

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

/** A sampling that a server requests, and the arguments for the policy. */
interface SamplingRequest {
  readonly completion: z.input<typeof completeModel.request>;
  /** The messages are not among them: a rule looks at numbers and names, and a decision is logged. */
  readonly policyArgs: { readonly maxTokens: number; readonly models: readonly string[] };
}

const Block = z.looseObject({ type: z.string() });

const Params = z.looseObject({
  messages: z
    .array(
      z.looseObject({
        role: z.enum(["user", "assistant"]),
        content: z.union([Block, z.array(Block)]),
      }),
    )
    .min(1)
    .max(200),
  maxTokens: z.int().min(1),
  systemPrompt: z.string().optional(),
  temperature: z.number().min(0).max(2).optional(),
  stopSequences: z.array(z.string().min(1).max(200)).max(16).optional(),
  modelPreferences: z
    .looseObject({
      hints: z
        .array(z.looseObject({ name: z.string().max(200).optional() }))
        .max(16)
        .optional(),
    })
    .optional(),
  tools: z
    .undefined({ error: "has tools, which this client does not offer in sampling" })
    .optional(),
});

/**
 * Reads the parameters of `sampling/createMessage`. More tokens than the limit are not refused but
 * cut: the server sees it in the stop reason. `includeContext` is ignored, as the protocol allows.
 */
export function readSampling(
  params: Readonly<Record<string, unknown>>,
  maxTokens: number,
): SamplingRequest | { problem: string } {
  const parsed = Params.safeParse(params);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { problem: `${issue?.path.join(".") ?? ""} ${issue?.message ?? "is not valid"}`.trim() };
  }
  const {
    messages,
    systemPrompt = null,
    temperature = null,
    stopSequences = [],
    modelPreferences,
  } = parsed.data;
  const read = messages.map(({ role, content }) => ({
    role,
    content: [content].flat().map(partOf),
  }));
  const foreign = read.flatMap(({ content }) => content).find((part) => part === null);
  if (foreign === null)
    return { problem: "a message has content that is not text, image or audio" };
  const hints = (modelPreferences?.hints ?? []).flatMap(({ name }) => name ?? []);
  const tokens = Math.min(parsed.data.maxTokens, maxTokens, MAX_COMPLETION_TOKENS);
  return {
    completion: {
      hints,
      system: systemPrompt,
      messages: read.map(({ role, content }) => ({
        role,
        content: content.filter((part) => part !== null),
      })),
      maxTokens: tokens,
      temperature,
      stopSequences,
    },
    policyArgs: { maxTokens: tokens, models: hints },
  };
}

function partOf(block: Readonly<Record<string, unknown>>): CompletionPart | null {
  const { type, text, data, mimeType } = block;
  const part = type === "text" ? { type, text } : { type, data, mimeType };
  return CompletionPart.safeParse(part).data ?? null;
}
