import {
  type completeArgument as completeContract,
  type getPrompt as getContract,
  PromptInfo,
  PromptMessage,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { ResultMeta } from "@switchyard/contracts/mcp-broker/mcp";
import type { Requester } from "@switchyard/tool-provider/policy-gate";
import { z } from "zod";
import type { PoolMember } from "../connection/pool-member.ts";
import type { ListedFeature } from "./list-features.ts";
import { askFeature, type Feature, type FeatureDeps } from "./perform-feature.ts";

export const PROMPTS: ListedFeature<typeof PromptInfo> = {
  method: "prompts/list",
  key: "prompts",
  entry: PromptInfo,
  needs: "prompts",
  kind: "prompt",
  nameOf: ({ name }) => name,
};

const GotPrompt = z.object({
  description: z.string().optional(),
  messages: z.array(PromptMessage),
  _meta: ResultMeta.optional(),
});

export async function getPrompt(
  deps: FeatureDeps,
  { member, request }: Of<typeof getContract>,
  requester: Requester,
): Promise<z.input<typeof getContract.reply>> {
  const { name, args } = request;
  const asked = {
    feature: { kind: "prompt", server: member.connection.entry.id, name, args },
    method: "prompts/get",
    params: { name, arguments: args },
    needs: "prompts",
    answer: GotPrompt,
    what: "prompt",
  } as const;
  const { decision, result } = await askFeature(deps, { member, asked }, requester);
  const { description = null, ...rest } = result;
  return { description, ...rest, decision };
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

/** A caller that may use the prompt or the template may have its arguments completed. */
export async function completeArgument(
  deps: FeatureDeps,
  { member, request }: Of<typeof completeContract>,
  requester: Requester,
): Promise<z.input<typeof completeContract.reply>> {
  const { ref, argument, args } = request;
  const server = member.connection.entry.id;
  const feature: Feature =
    ref.type === "prompt"
      ? { kind: "prompt", server, name: ref.name, args }
      : { kind: "resource", server, name: ref.uri, args: { uri: ref.uri } };
  const asked = {
    feature,
    method: "completion/complete",
    params: {
      ref: { ...ref, type: `ref/${ref.type}` },
      argument,
      ...(Object.keys(args).length === 0 ? {} : { context: { arguments: args } }),
    },
    needs: "completions",
    answer: Completed,
    what: "completion",
  } as const;
  const { result } = await askFeature(deps, { member, asked }, requester);
  const { values, total = null, hasMore = false } = result.completion;
  const more = hasMore || values.length > MAX_VALUES;
  return { values: values.slice(0, MAX_VALUES), total, more };
}

/** A request of this contract, to this server. */
interface Of<C extends { readonly request: z.ZodType }> {
  readonly member: PoolMember;
  readonly request: z.output<C["request"]>;
}
