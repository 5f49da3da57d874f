import { z } from "zod";
import {
  type readResource as readContract,
  ResourceContent,
  ResourceInfo,
  ResourceTemplateInfo,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { ResultMeta } from "@switchyard/contracts/mcp-broker/mcp";
import type { Requester } from "@switchyard/tool-provider/policy-gate";
import type { PoolMember } from "../connection/pool-member.ts";
import type { ListedFeature } from "./list-features.ts";
import { askFeature, type FeatureDeps } from "./perform-feature.ts";

export const RESOURCES: ListedFeature<typeof ResourceInfo> = {
  method: "resources/list",
  key: "resources",
  entry: ResourceInfo,
  needs: "resources",
  kind: "resource",
  nameOf: ({ uri }) => uri,
};

/** A template is allowed by rules for resources: its text with its braces is what they are compared with. */
export const TEMPLATES: ListedFeature<typeof ResourceTemplateInfo> = {
  method: "resources/templates/list",
  key: "resourceTemplates",
  entry: ResourceTemplateInfo,
  needs: "resources",
  kind: "resource",
  nameOf: ({ uriTemplate }) => uriTemplate,
};

const ReadResource = z.object({
  contents: z.array(ResourceContent),
  _meta: ResultMeta.optional(),
});

export async function readResource(
  deps: FeatureDeps,
  { member, uri }: { readonly member: PoolMember; readonly uri: string },
  requester: Requester,
): Promise<z.input<typeof readContract.reply>> {
  const asked = {
    feature: { kind: "resource", server: member.connection.entry.id, name: uri, args: { uri } },
    method: "resources/read",
    params: { uri },
    needs: "resources",
    answer: ReadResource,
    what: "resource",
  } as const;
  const { decision, result } = await askFeature(deps, { member, asked }, requester);
  return { ...result, decision };
}
