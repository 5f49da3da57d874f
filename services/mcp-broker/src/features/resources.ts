import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  featureErrors,
  type listResources as listContract,
  type listResourceTemplates as templatesContract,
  type readResource as readContract,
  ResourceContent,
  ResourceInfo,
  ResourceTemplateInfo,
} from "@switchyard/contracts/mcp-features";
import type { AskedFor } from "@switchyard/service/tool-provider/policy-gate";
import type { FeatureGate } from "../server-requests/feature-gate.ts";
import { listFeature } from "./list-features.ts";
import { routed, sendRequest, type RequestTarget } from "./send-request.ts";

type Target = RequestTarget & { readonly gate: FeatureGate };

const fail = failuresOf(featureErrors);

export async function listResources(
  target: Target,
  asked: AskedFor,
): Promise<z.input<typeof listContract.reply>> {
  const { entries, more } = await listFeature(
    target,
    {
      method: "resources/list",
      key: "resources",
      entry: ResourceInfo,
      needs: "resources",
      kind: "resource",
      nameOf: ({ uri }) => uri,
    },
    asked,
  );
  return { resources: entries, more };
}

/** A template is allowed by rules for resources: its text with its braces is what they are compared with. */
export async function listResourceTemplates(
  target: Target,
  asked: AskedFor,
): Promise<z.input<typeof templatesContract.reply>> {
  const { entries, more } = await listFeature(
    target,
    {
      method: "resources/templates/list",
      key: "resourceTemplates",
      entry: ResourceTemplateInfo,
      needs: "resources",
      kind: "resource",
      nameOf: ({ uriTemplate }) => uriTemplate,
    },
    asked,
  );
  return { templates: entries, more };
}

export async function readResource(
  target: Target,
  uri: string,
  asked: AskedFor,
): Promise<z.input<typeof readContract.reply>> {
  const server = target.connection.entry.id;
  const feature = { kind: "resource", server, name: uri, args: { uri } } as const;
  const method = "resources/read";
  const { decision, result } = await target.gate.perform(
    feature,
    { method, asked },
    async (principal, stoppable) => {
      const request = {
        method,
        params: { uri },
        needs: "resources",
        asked: stoppable,
      } as const;
      const answer = await sendRequest(await routed(target, principal), request);
      const contents = ResourceContent.array().safeParse(answer["contents"]);
      if (contents.success) return contents.data;
      const reason = "it answered with something that is no resource";
      throw fail.server_failed(`MCP server ${server} failed: ${reason}`, { server, reason });
    },
  );
  return { contents: result, decision };
}
