import {
  type completeArgument as completeContract,
  type getPrompt as getContract,
  type listPrompts as listContract,
  PromptInfo,
  PromptMessage,
} from "@switchyard/contracts/mcp-features";
import { z } from "zod";
import type { Requester } from "@switchyard/service/tool-provider/policy-gate";
import type { PoolMember } from "../connection/pool-member.ts";
import { listFeature, type ListedFeature } from "./list-features.ts";
import { performFeature, sendFeature, type Feature, type FeatureDeps } from "./perform-feature.ts";
import { noResult } from "./request-feature.ts";

const PROMPTS: ListedFeature<typeof PromptInfo> = {
  method: "prompts/list",
  key: "prompts",
  entry: PromptInfo,
  needs: "prompts",
  kind: "prompt",
  nameOf: ({ name }) => name,
};

export async function listPrompts(
  deps: FeatureDeps,
  member: PoolMember,
  requester: Requester,
): Promise<z.input<typeof listContract.reply>> {
  const { entries, more } = await listFeature(deps, { member, listed: PROMPTS }, requester);
  return { prompts: entries, more };
}

const GotPrompt = z.object({
  description: z.string().optional(),
  messages: z.array(PromptMessage),
});

export async function getPrompt(
  deps: FeatureDeps,
  {
    member,
    request: { name, args },
  }: {
    readonly member: PoolMember;
    readonly request: Pick<z.output<typeof getContract.request>, "name" | "args">;
  },
  requester: Requester,
): Promise<z.input<typeof getContract.reply>> {
  const server = member.connection.entry.id;
  const feature = { kind: "prompt", server, name, args } as const;
  const method = "prompts/get";
  const { decision, result } = await performFeature(
    deps,
    { feature, method, requester },
    async (call) => {
      const params = { name, arguments: args };
      const request = { method, params, needs: "prompts", call } as const;
      const got = GotPrompt.safeParse(await sendFeature(deps, member, request));
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
  deps: FeatureDeps,
  {
    member,
    request: { ref, argument, args },
  }: {
    readonly member: PoolMember;
    readonly request: Pick<z.output<typeof completeContract.request>, "ref" | "argument" | "args">;
  },
  requester: Requester,
): Promise<z.input<typeof completeContract.reply>> {
  const server = member.connection.entry.id;
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
  const { result } = await performFeature(deps, { feature, method, requester }, async (call) => {
    const request = { method, params, needs: "completions", call } as const;
    const completed = Completed.safeParse(await sendFeature(deps, member, request));
    if (completed.success) return completed.data.completion;
    throw noResult(server, "completion");
  });
  const { values, total = null, hasMore = false } = result;
  const more = hasMore || values.length > MAX_VALUES;
  return { values: values.slice(0, MAX_VALUES), total, more };
}
