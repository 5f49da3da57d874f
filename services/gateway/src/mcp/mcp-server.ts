import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  Server,
  type CallToolResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { withObjectOutput } from "@switchyard/contracts/mcp-broker/client-tool";
import { builtinNamed } from "@switchyard/contracts/toolbox/toolbox";
import { z } from "zod";
import { callAgent } from "./call-agent.ts";
import { callProviderTool } from "./call-provider-tool.ts";
import { serverCatalogue, wholeCatalogue, type Catalogue, type Missing } from "./catalogue.ts";
import { abilitiesIn, requesterOfRequest, TASKS_EXTENSION } from "./mcp-request.ts";
import { unknownTool, withErrors } from "./mcp-errors.ts";
import { AGENT_TOOL, runTools } from "./run-tools.ts";
import { cancelTask, getTask } from "./run-tasks.ts";
import type { Requester } from "../identity/requester.ts";
import type { McpParts, ToolCall } from "./tool-call.ts";

const INSTRUCTIONS =
  "Tools named mcp__<server>__<tool> are those of MCP servers, agent__<name> runs an agent to its answer. Every call is decided by a policy; one that needs an approval is not made before a person has given it.";

const MOST_NAMED = 20;

/** The instructions of the catalogue of all servers; `unavailable` names the servers that it lacks now. */
export function wholeInstructions(unavailable: readonly string[]): string {
  if (unavailable.length === 0) return INSTRUCTIONS;
  // oxlint-disable-next-line switchyard/text-cuts -- a list of ids
  const names = unavailable.slice(0, MOST_NAMED).join(", ");
  const more =
    unavailable.length > MOST_NAMED ? ` and ${unavailable.length - MOST_NAMED} more` : "";
  return `${INSTRUCTIONS} Not connected at the moment: ${names}${more}; a list_changed notification follows when their tools are there.`;
}

/** The name under which the gateway answers: that of the only server, or its own. */
export function identityOf(server: string | null) {
  return { name: server ?? "switchyard", title: "Switchyard", version: "0.1.0" };
}

export function catalogueOf(server: string | null): Catalogue {
  return server === null ? wholeCatalogue : serverCatalogue(server);
}

const TaskRef = z.looseObject({ taskId: z.string().min(1).max(100) });

/** Creates an MCP server of everything that the sender of each request may use, or of one MCP server alone. */
export function createMcpServer(
  parts: McpParts,
  {
    server,
    era,
    instructions,
  }: {
    readonly server: string | null;
    readonly era: "legacy" | "modern";
    /** Undefined: none. */
    readonly instructions: string | undefined;
  },
): Server {
  const isWhole = server === null;
  const catalogue = catalogueOf(server);
  const mcp = new Server(identityOf(server), {
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      ...(isWhole && era === "modern" && { extensions: { [TASKS_EXTENSION]: {} } }),
    },
    ...(instructions !== undefined && { instructions }),
  });

  handleLists(mcp, parts, { catalogue, era });
  mcp.setRequestHandler("tools/call", ({ params }, context) =>
    withErrors(faultOf(parts, context), async () => {
      const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
      const stated = envelope[CLIENT_CAPABILITIES_META_KEY] ?? mcp.getClientCapabilities();
      const call: ToolCall = {
        parts,
        requester: requesterOfRequest(context),
        context,
        abilities: abilitiesIn(stated),
        args: params.arguments ?? {},
        onFault: faultOf(parts, context),
      };
      // A form or a task replaces the result; the SDK's type has only forms.
      return (await callTool(server, params.name, call)) as CallToolResult;
    }),
  );
  mcp.setRequestHandler("resources/read", ({ params: { uri } }, context) =>
    withErrors(faultOf(parts, context), () => catalogue.read(requesterOfRequest(context), uri)),
  );
  mcp.setRequestHandler("prompts/get", ({ params }, context) =>
    withErrors(faultOf(parts, context), () =>
      catalogue.prompt(requesterOfRequest(context), params.name, params.arguments ?? {}),
    ),
  );
  mcp.setRequestHandler("completion/complete", ({ params }, context) =>
    withErrors(faultOf(parts, context), async () => {
      const { ref, argument } = params;
      const completion = { ref, argument, args: params.context?.arguments ?? {} };
      return { completion: await catalogue.complete(requesterOfRequest(context), completion) };
    }),
  );
  if (isWhole && era === "modern") handleTasks(mcp, parts);
  return mcp;
}

function handleLists(
  mcp: Server,
  parts: McpParts,
  { catalogue, era }: { readonly catalogue: Catalogue; readonly era: "legacy" | "modern" },
): void {
  mcp.setRequestHandler("tools/list", (_request, context) =>
    withErrors(faultOf(parts, context), async () => {
      const { tools, ...rest } = await listTools(catalogue, requesterOfRequest(context));
      return { tools: era === "legacy" ? tools.map(withObjectOutput) : tools, ...rest };
    }),
  );
  mcp.setRequestHandler("resources/list", (_request, context) =>
    withErrors(faultOf(parts, context), async () => {
      const { items, missing } = await catalogue.resources(requesterOfRequest(context));
      return { resources: items, ...missingMeta(missing) };
    }),
  );
  mcp.setRequestHandler("resources/templates/list", (_request, context) =>
    withErrors(faultOf(parts, context), async () => {
      const { items, missing } = await catalogue.templates(requesterOfRequest(context));
      return { resourceTemplates: items, ...missingMeta(missing) };
    }),
  );
  mcp.setRequestHandler("prompts/list", (_request, context) =>
    withErrors(faultOf(parts, context), async () => {
      const { items, missing } = await catalogue.prompts(requesterOfRequest(context));
      return { prompts: items, ...missingMeta(missing) };
    }),
  );
}

/** The result of `tools/list`. */
export async function listTools(catalogue: Catalogue, requester: Requester) {
  const { items, missing } = await catalogue.tools(requester);
  return { tools: items, ...missingMeta(missing) };
}

/** Tasks are an extension, which the SDK transports without types. */
function handleTasks(mcp: Server, parts: McpParts): void {
  mcp.setRequestHandler("tasks/get", { params: TaskRef }, ({ taskId }, context) =>
    withErrors(faultOf(parts, context), () => getTask(requesterOfRequest(context), taskId)),
  );
  mcp.setRequestHandler("tasks/cancel", { params: TaskRef }, ({ taskId }, context) =>
    withErrors(faultOf(parts, context), () => cancelTask(requesterOfRequest(context), taskId)),
  );
  // The waits of a run are decided under their own addresses, see tasks/get.
  mcp.setRequestHandler("tasks/update", { params: TaskRef }, () => {
    throw new ProtocolError(-32_602, "no input of this task is awaited here");
  });
}

/** Names the missing servers of a list in its metadata, for programs; the instructions name the same servers, for models. */
function missingMeta(missing: readonly Missing[]): { _meta?: Record<string, unknown> } {
  return missing.length === 0 ? {} : { _meta: { [MISSING]: missing } };
}

/** Key in the `_meta` of a list: the MCP servers that are missing from it, with the reasons. */
const MISSING = "switchyard/missing";

function faultOf(parts: McpParts, context: ServerContext): (error: unknown) => void {
  return (err) =>
    logFault(parts, { err, method: context.mcpReq.method }, requesterOfRequest(context));
}

export function logFault(
  { log }: McpParts,
  { err, method }: { readonly err: unknown; readonly method: string },
  { requestId }: Requester,
): void {
  log.error({ err, requestId, method }, "request fault");
}

/** Calls a tool of the catalogue of all servers, or of one server alone. */
export function callTool(server: string | null, name: string, call: ToolCall): Promise<object> {
  if (server !== null) return callProviderTool({ server, tool: name, isOfAll: false }, call);
  if (name.startsWith(AGENT_TOOL)) return callAgent(name.slice(AGENT_TOOL.length), call);
  const own = runTools.find(({ tool }) => tool.name === name);
  if (own !== undefined) return own.call(call);
  if (builtinNamed(name) !== null)
    return callProviderTool({ server: null, tool: name, isOfAll: true }, call);
  const [, owner] = /^mcp__([a-z0-9][a-z0-9-]{0,23})__./.exec(name) ?? [];
  if (owner === undefined) throw unknownTool(name);
  return callProviderTool({ server: owner, tool: name, isOfAll: true }, call);
}
