import { failuresOf } from "@switchyard/contracts/errors";
import {
  featureErrors,
  type completeArgument as completeContract,
  type getPrompt as getContract,
  type listPrompts as listContract,
  PromptInfo,
  PromptMessage,
} from "@switchyard/contracts/mcp-features";
import { z } from "zod";
import type { AskedFor } from "@switchyard/service/tool-provider/policy-gate";
import type { Feature, FeatureGate } from "../server-requests/feature-gate.ts";
import { listFeature } from "./list-features.ts";
import { routed, sendRequest, type RequestTarget } from "./send-request.ts";

type Target = RequestTarget & { readonly gate: FeatureGate };

const fail = failuresOf(featureErrors);

export async function listPrompts(
  target: Target,
  asked: AskedFor,
): Promise<z.input<typeof listContract.reply>> {
  const { entries, more } = await listFeature(
    target,
    {
      method: "prompts/list",
      key: "prompts",
      entry: PromptInfo,
      needs: "prompts",
      kind: "prompt",
      nameOf: ({ name }) => name,
    },
    asked,
  );
  return { prompts: entries, more };
}

const GotPrompt = z.object({
  description: z.string().optional(),
  messages: z.array(PromptMessage),
});

export async function getPrompt(
  target: Target,
  { name, args }: Pick<z.output<typeof getContract.request>, "name" | "args">,
  asked: AskedFor,
): Promise<z.input<typeof getContract.reply>> {
  const server = target.connection.entry.id;
  const method = "prompts/get";
  const { decision, result } = await target.gate.perform(
    { kind: "prompt", server, name, args },
    { method, asked },
    async (principal, stoppable) => {
      const request = {
        method,
        params: { name, arguments: args },
        needs: "prompts",
        asked: stoppable,
      } as const;
      const got = GotPrompt.safeParse(await sendRequest(await routed(target, principal), request));
      if (got.success) return got.data;
      throw noResult(server, "prompt");
    },
  );
  const { description = null, messages } = result;
  return { description, messages, decision };
}

const Completed = z.object({
  completion: z.object({
    values: z.array(z.string()),
    total: z.int().optional(),
    hasMore: z.boolean().optional(),
  }),
});

/** The protocol allows a hundred values. */
const MAX_VALUES = 100;

/** Who may use the prompt or the template may have its arguments completed. */
export async function completeArgument(
  target: Target,
  request: Pick<z.output<typeof completeContract.request>, "ref" | "argument" | "args">,
  asked: AskedFor,
): Promise<z.input<typeof completeContract.reply>> {
  const { ref, argument, args } = request;
  const server = target.connection.entry.id;
  const feature: Feature =
    ref.type === "prompt"
      ? { kind: "prompt", server, name: ref.name, args }
      : { kind: "resource", server, name: ref.uri, args: { uri: ref.uri } };
  const params = {
    ref: { ...ref, type: `ref/${ref.type}` },
    argument,
    ...(Object.keys(args).length === 0 ? {} : { context: { arguments: args } }),
  };
  const method = "completion/complete";
  const { result } = await target.gate.perform(
    feature,
    { method, asked },
    async (principal, stoppable) => {
      const sent = { method, params, needs: "completions", asked: stoppable } as const;
      const completed = Completed.safeParse(
        await sendRequest(await routed(target, principal), sent),
      );
      if (completed.success) return completed.data.completion;
      throw noResult(server, "completion");
    },
  );
  const { values, total = null, hasMore = false } = result;
  const more = hasMore || values.length > MAX_VALUES;
  return { values: values.slice(0, MAX_VALUES), total, more };
}

function noResult(server: string, what: string) {
  const reason = `it answered with something that is no ${what}`;
  return fail.server_failed(`MCP server ${server} failed: ${reason}`, { server, reason });
}
