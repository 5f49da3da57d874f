import type { z } from "zod";
import {
  type listResources as listContract,
  type listResourceTemplates as templatesContract,
  type readResource as readContract,
  ResourceContent,
  ResourceInfo,
  ResourceTemplateInfo,
} from "@switchyard/contracts/mcp-features";
import type { Requester } from "@switchyard/service/tool-provider/policy-gate";
import type { PoolMember } from "../connection/pool-member.ts";
import { listFeature, type ListedFeature } from "./list-features.ts";
import { performFeature, sendFeature, type FeatureDeps } from "./perform-feature.ts";
import { noResult } from "./request-feature.ts";

const RESOURCES: ListedFeature<typeof ResourceInfo> = {
  method: "resources/list",
  key: "resources",
  entry: ResourceInfo,
  needs: "resources",
  kind: "resource",
  nameOf: ({ uri }) => uri,
};

/** A template is allowed by rules for resources: its text with its braces is what they are compared with. */
const TEMPLATES: ListedFeature<typeof ResourceTemplateInfo> = {
  method: "resources/templates/list",
  key: "resourceTemplates",
  entry: ResourceTemplateInfo,
  needs: "resources",
  kind: "resource",
  nameOf: ({ uriTemplate }) => uriTemplate,
};

export async function listResources(
  deps: FeatureDeps,
  member: PoolMember,
  requester: Requester,
): Promise<z.input<typeof listContract.reply>> {
  const { entries, more } = await listFeature(deps, { member, listed: RESOURCES }, requester);
  return { resources: entries, more };
}

export async function listResourceTemplates(
  deps: FeatureDeps,
  member: PoolMember,
  requester: Requester,
): Promise<z.input<typeof templatesContract.reply>> {
  const { entries, more } = await listFeature(deps, { member, listed: TEMPLATES }, requester);
  return { templates: entries, more };
}

export async function readResource(
  deps: FeatureDeps,
  { member, uri }: { readonly member: PoolMember; readonly uri: string },
  requester: Requester,
): Promise<z.input<typeof readContract.reply>> {
  const server = member.connection.entry.id;
  const feature = { kind: "resource", server, name: uri, args: { uri } } as const;
  const method = "resources/read";
  const { decision, result } = await performFeature(
    deps,
    { feature, method, requester },
    async (call) => {
      const request = { method, params: { uri }, needs: "resources", call } as const;
      const { contents } = await sendFeature(deps, member, request);
      const read = ResourceContent.array().safeParse(contents);
      if (read.success) return read.data;
      throw noResult(server, "resource");
    },
  );
  return { contents: result, decision };
}
