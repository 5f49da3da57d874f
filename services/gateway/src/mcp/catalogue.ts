import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { clientTool } from "@switchyard/contracts/mcp-broker/client-tool";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import * as features from "@switchyard/contracts/mcp-broker/mcp-features";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { readSkillFile } from "@switchyard/contracts/skill-importer/skill-store";
import {
  listSkills,
  renderSkill,
  type SkillSummary,
} from "@switchyard/contracts/skill-importer/skills";
import { callBuiltin, listBuiltins, schemaForModels } from "@switchyard/contracts/toolbox/toolbox";
import {
  ResourceNotFoundError,
  type GetPromptResult,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  type Tool,
} from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { Requester } from "../identity/requester.ts";
import { Problem } from "../problems/problem.ts";
import { agentTool, runTools } from "./run-tools.ts";

/** The tools, resources and prompts of a client: everything that the requester may use, or one server alone under its own names. */
export interface Catalogue {
  tools(requester: Requester): Promise<Listed<Tool>>;
  resources(requester: Requester): Promise<Listed<Resource>>;
  templates(requester: Requester): Promise<Listed<ResourceTemplateType>>;
  read(requester: Requester, uri: string): Promise<ReadResourceResult>;
  prompts(requester: Requester): Promise<Listed<Prompt>>;
  prompt(
    requester: Requester,
    name: string,
    args: Record<string, string>,
  ): Promise<GetPromptResult>;
  complete(
    requester: Requester,
    request: Completion,
  ): Promise<{ values: string[]; hasMore: boolean }>;
}

/** A list that may lack entries of servers that could not be read; the whole list is refused when the broker does not answer. */
export interface Listed<T> {
  readonly items: T[];
  readonly missing: readonly Missing[];
}

/** An MCP server whose part of a list is missing, and why. */
export interface Missing {
  readonly server: string;
  readonly reason: string;
}

export interface Completion {
  readonly ref:
    | { readonly type: "ref/prompt"; readonly name: string }
    | { readonly type: "ref/resource"; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  readonly args: Record<string, string>;
}

/** Returns the catalogue of one server, as its policy permits. */
export function serverCatalogue(server: string): Catalogue {
  const tokens = { server };
  const at = { tokens } as const;
  return {
    async tools(requester) {
      if (!requester.may(callTool)) return { items: [], missing: [] };
      const { tools, failures } = await requester.ask(listTools, { server });
      return {
        items: tools.map((tool) => clientTool(tool, tool.tool)),
        missing: missingIn(failures),
      };
    },
    async resources(requester) {
      const { resources } = await orNone(requester.ask(features.listResources, {}, at), {
        resources: [],
        more: false,
      });
      return { items: resources, missing: [] }; // The entries are unchanged; the contract checked the fields in use.
    },
    async templates(requester) {
      const { templates } = await orNone(requester.ask(features.listResourceTemplates, {}, at), {
        templates: [],
        more: false,
      });
      return { items: templates, missing: [] }; // The entries are unchanged; the contract checked the fields in use.
    },
    async read(requester, uri) {
      const { decision: _, ...result } = await requester
        .ask(features.readResource, { uri }, at)
        .catch(notFound(uri));
      return result as ReadResourceResult; // The contract checked the fields in use.
    },
    async prompts(requester) {
      const { prompts } = await orNone(requester.ask(features.listPrompts, {}, at), {
        prompts: [],
        more: false,
      });
      return { items: prompts, missing: [] }; // The entries are unchanged; the contract checked the fields in use.
    },
    async prompt(requester, name, args) {
      const {
        description,
        decision: _,
        ...result
      } = await requester.ask(features.getPrompt, { name, args }, at);
      return { ...result, ...(description !== null && { description }) } as GetPromptResult; // The contract checked the fields in use.
    },
    async complete(requester, { ref, argument, args }) {
      const named =
        ref.type === "ref/prompt"
          ? { type: "prompt" as const, name: ref.name }
          : { type: "resource" as const, uri: ref.uri };
      const request = { ref: named, argument, args };
      const { values, more } = await requester.ask(features.completeArgument, request, at);
      return { values, hasMore: more };
    },
  };
}

/** Everything that the requester may use: MCP tools under their canonical names, built-in tools, agents, runs and skills. */
export const wholeCatalogue: Catalogue = {
  async tools(requester) {
    const none = { tools: [], failures: [] };
    const [mcp, builtins, { agents }] = await Promise.all([
      requester.may(callTool) ? mcpTools(requester) : none,
      requester.may(callBuiltin)
        ? orNone(requester.ask(listBuiltins, {}), { tools: [] }, NOT_RUNNING)
        : none,
      requester.may(startRun)
        ? orNone<{ agents: { name: string; description: string }[] }>(
            requester.ask(listAgents, {}),
            {
              agents: [],
            },
            NOT_RUNNING,
          )
        : { agents: [] },
    ]);
    const items = [
      ...mcp.tools.map((tool) => withAddressedUi(clientTool(tool, tool.name), tool.server)),
      ...builtins.tools.map(
        // It is the JSON Schema of an object.
        ({ name, description, inputSchema }) => ({
          name,
          description,
          inputSchema: schemaForModels(inputSchema),
        }),
      ),
      ...agents.map(agentTool),
      ...runTools.filter(({ contract }) => requester.may(contract)).map(({ tool }) => tool),
    ];
    return { items, missing: missingIn(mcp.failures) };
  },
  async resources(requester) {
    const { items, missing } = await ofServers(requester, async (server) => {
      const resources = await serverCatalogue(server).resources(requester);
      return resources.items.map((resource) =>
        changed(resource, {
          uri: addressOf(server, resource.uri),
          title: resource.title ?? resource.name,
          name: `${server}: ${resource.name}`,
        }),
      );
    });
    const skills = await skillsOf(requester);
    return { items: [...items, ...skills.map(skillResource)], missing };
  },
  async templates(requester) {
    return ofServers(requester, async (server) => {
      const templates = await serverCatalogue(server).templates(requester);
      return templates.items.map((template) =>
        changed(template, {
          // Only the prefix is the gateway's, so a template stays a template.
          uriTemplate: addressOf(server, template.uriTemplate),
          name: `${server}: ${template.name}`,
        }),
      );
    });
  },
  async read(requester, uri) {
    if (uri.startsWith(SKILL_URI)) return readSkill(requester, uri);
    const { server, own } = partsOf(uri);
    const { contents, ...rest } = await serverCatalogue(server).read(requester, own);
    const addressed = contents.map((one) => changed(one, { uri: addressOf(server, one.uri) }));
    return { ...rest, contents: addressed };
  },
  async prompts(requester) {
    const { items, missing } = await ofServers(requester, async (server) => {
      const prompts = await serverCatalogue(server).prompts(requester);
      return prompts.items.map((prompt) => changed(prompt, { name: `${server}__${prompt.name}` }));
    });
    const skills = await skillsOf(requester);
    const ofSkills = skills.filter(({ userInvocable }) => userInvocable).map(skillPrompt);
    return { items: [...items, ...ofSkills], missing };
  },
  async prompt(requester, name, args) {
    if (name.startsWith(SKILL_PROMPT)) {
      const skill = { name: name.slice(SKILL_PROMPT.length), arguments: args["arguments"] ?? "" };
      const { text } = await requester.ask(renderSkill, skill);
      return { messages: [{ role: "user", content: { type: "text", text } }] };
    }
    const { server, own } = serverOfPrompt(name);
    return serverCatalogue(server).prompt(requester, own, args);
  },
  async complete(requester, request) {
    const { ref } = request;
    if (ref.type === "ref/prompt") {
      if (ref.name.startsWith(SKILL_PROMPT)) return { values: [], hasMore: false };
      const { server, own } = serverOfPrompt(ref.name);
      return serverCatalogue(server).complete(requester, {
        ...request,
        ref: { ...ref, name: own },
      });
    }
    if (ref.uri.startsWith(SKILL_URI)) return { values: [], hasMore: false };
    const { server, own } = partsOf(ref.uri);
    return serverCatalogue(server).complete(requester, { ...request, ref: { ...ref, uri: own } });
  },
};

/** The server's id before the address distinguishes resources: two servers may use the same address. */
const SERVER_URI = "yard-mcp://";
const SKILL_URI = "skill://";
const SKILL_PROMPT = "skill__";

function changed<T extends object>(thing: T, changes: Partial<T>): T {
  return { ...thing, ...changes };
}

/** Clients recognize user interfaces by this scheme. */
const UI_URI = "ui://";

/** Returns the address of a server's resource in the catalogue of all servers. */
export function addressOf(server: string, uri: string): string {
  if (uri.startsWith(UI_URI)) return `${UI_URI}yard-mcp.${server}/${uri.slice(UI_URI.length)}`;
  return `${SERVER_URI}${server}/${uri}`;
}

function partsOf(uri: string): { server: string; own: string } {
  const [, scheme, server, own] =
    /^(yard-mcp:\/\/|ui:\/\/yard-mcp\.)([a-z0-9][a-z0-9-]{0,23})\/(.+)$/s.exec(uri) ?? [];
  if (server === undefined || own === undefined) throw new ResourceNotFoundError(uri);
  return { server, own: scheme === SERVER_URI ? own : `${UI_URI}${own}` };
}

function serverOfPrompt(name: string): { server: string; own: string } {
  const [, server, own] = /^([a-z0-9][a-z0-9-]{0,23})__(.+)$/s.exec(name) ?? [];
  if (server === undefined || own === undefined)
    throw new ServiceError("invalid_request", `there is no prompt ${cutText(name, 100)}`);
  return { server, own };
}

/** The members in which a tool names the user interface that shows its results: MCP Apps (SEP-1865), its first draft, and OpenAI's Apps SDK. */
const UI_KEYS = ["ui/resourceUri", "openai/outputTemplate"];

/** Returns the tool with the addresses of its user interface in the form of the catalogue of all servers. */
function withAddressedUi(tool: Tool, server: string): Tool {
  const { _meta: meta } = tool;
  if (meta === undefined) return tool;
  const addressed = (value: unknown): unknown =>
    typeof value === "string" && value.startsWith(UI_URI) ? addressOf(server, value) : value;
  const changes = UI_KEYS.filter((key) => key in meta).map((key) => [key, addressed(meta[key])]);
  const { ui } = meta;
  const isUi = typeof ui === "object" && ui !== null && "resourceUri" in ui;
  return {
    ...tool,
    _meta: {
      ...meta,
      ...Object.fromEntries(changes),
      ...(isUi && { ui: { ...ui, resourceUri: addressed(ui.resourceUri) } }),
    },
  };
}

/** Reads the lists of all servers that the requester may see. A server whose list cannot be read is reported, and never hides the others. */
async function ofServers<T>(
  requester: Requester,
  list: (server: string) => Promise<readonly T[]>,
): Promise<Listed<T>> {
  const missing: Missing[] = [];
  const lists = await Promise.all(
    (await serversOf(requester)).map((server) =>
      list(server).catch((error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
        missing.push({ server, reason: `${error.code}: ${error.message}` });
        return [];
      }),
    ),
  );
  return { items: lists.flat(), missing };
}

/** MCP servers whose tools are missing from the catalogue of all servers because they are not connected, for the start of a session. */
export async function missingServers(requester: Requester): Promise<readonly string[]> {
  if (!requester.may(callTool)) return [];
  try {
    const { failures } = await requester.ask(listTools, {});
    return [...new Set(missingIn(failures).map(({ server }) => server))];
  } catch (error) {
    if (error instanceof ServiceError) return []; // A session does not depend on it, and tools/list reports it.
    throw error;
  }
}

/** The instructions of one MCP server for a model, for the start of a session; undefined without any. */
export async function instructionsOfServer(
  requester: Requester,
  server: string,
): Promise<string | undefined> {
  if (!requester.may(callTool)) return undefined;
  try {
    return (await requester.ask(listTools, { server })).instructions;
  } catch (error) {
    if (error instanceof ServiceError) return undefined; // A session does not depend on it, and tools/list reports it.
    throw error;
  }
}

/** Throws a Problem with status 404 for a server that the broker does not have. Lists report what else is wrong with a server. */
export async function requireServer(requester: Requester, server: string): Promise<void> {
  if (!requester.may(callTool)) return;
  try {
    await requester.ask(listTools, { server });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code !== "unknown_server") return;
    const detail = `there is no MCP server ${server}: yard mcp list shows the ids, and yard mcp add makes one`;
    throw new Problem({ status: 404, code: "unknown_server", detail, data: { server } });
  }
}

type ListReply = z.output<typeof listTools.reply>;

/** A server counts as missing only when it is not connected; an unusable tool of a connected one is a finding of the server. */
function missingIn(failures: ListReply["failures"]): Missing[] {
  return failures
    .filter(({ status }) => status !== "connected")
    .map(({ server, error }) => ({ server, reason: error }));
}

/** Rejects when the broker does not answer: a list without its tools would read as if there were none. */
function mcpTools(requester: Requester): Promise<ListReply> {
  return orNone<ListReply>(requester.ask(listTools, {}), { tools: [], failures: [] });
}

/** The list of servers is for administrators; others get the servers whose tools they may call. */
async function serversOf(requester: Requester): Promise<string[]> {
  if (requester.may(listServers)) {
    const { servers } = await orNone<{ servers: { id: string; status: string }[] }>(
      requester.ask(listServers, {}),
      { servers: [] },
    );
    return servers.filter(({ status }) => status === "connected").map(({ id }) => id);
  }
  const { tools } = await mcpTools(requester);
  return [...new Set(tools.map(({ server }) => server))];
}

async function skillsOf(requester: Requester): Promise<readonly SkillSummary[]> {
  if (!requester.may(listSkills)) return [];
  const { skills } = await orNone<{ skills: SkillSummary[] }>(
    requester.ask(listSkills, {}),
    { skills: [] },
    NOT_RUNNING,
  );
  return skills;
}

function skillResource({ name, description }: SkillSummary): Resource {
  const uri = `${SKILL_URI}${name}/SKILL.md`;
  return { uri, name: `skill: ${name}`, title: name, description, mimeType: "text/markdown" };
}

function skillPrompt({ name, description, argumentHint }: SkillSummary): Prompt {
  const what = argumentHint ?? "what the skill is to work on";
  const text = { name: "arguments", description: what, required: false };
  return { name: `${SKILL_PROMPT}${name}`, title: name, description, arguments: [text] };
}

async function readSkill(requester: Requester, uri: string): Promise<ReadResourceResult> {
  const [, name, path] = /^skill:\/\/([A-Za-z0-9_-]+)\/(.+)$/.exec(uri) ?? [];
  if (name === undefined || path === undefined) throw new ResourceNotFoundError(uri);
  const limit = 262_144;
  const file = await requester.ask(readSkillFile, { name, path, limit }).catch(notFound(uri));
  const text = Buffer.from(file.base64, "base64").toString("utf8");
  return { contents: [{ uri, mimeType: "text/markdown", text }] };
}

const NOT_FOUND = new Set(["server_failed", "unknown_server", "unknown_skill", "unknown_file"]);

function notFound(uri: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof ServiceError && NOT_FOUND.has(error.code))
      throw new ResourceNotFoundError(uri);
    throw error;
  };
}

/** A list omits features that a server does not offer or the requester may not see. */
const NOTHING = new Set(["not_supported", "forbidden", "scope_required"]);
/** An installation may run without the toolbox and the importer. */
const NOT_RUNNING = "no_responders";

async function orNone<T>(asked: Promise<T>, none: T, also?: typeof NOT_RUNNING): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ServiceError && (NOTHING.has(error.code) || error.code === also))
      return none;
    throw error;
  }
}
