import { ServiceError } from "@switchyard/contracts/errors";
import type { UnavailableServer } from "@switchyard/contracts/agent-runner/runs";
import { parseToolPattern } from "@switchyard/contracts/tool-patterns";
import type { ListedTool } from "../core/tool-catalogue.ts";
import type { ServiceClients } from "./service-clients.ts";
import { listServerTools } from "./list-server-tools.ts";

/** The run that lists tools, and the layers of the tools that it may use at all. */
export interface ListingRun {
  readonly token: string;
  readonly layers: readonly (readonly string[])[];
  /** The runner's own tools that the policy decides about, by name. */
  readonly policed: readonly string[];
}

/** The tools that a run may call at this moment. */
export interface Listing {
  readonly tools: readonly ListedTool[];
  /** Own tools of the runner that the policy denies whatever their arguments are. */
  readonly denied: readonly string[];
  /** Servers that the run may use and whose tools are not all in the list. */
  readonly unavailable: readonly UnavailableServer[];
}

/**
 * Lists the tools that the policy lets a run call, of every tool provider: built-in tools, then those of MCP servers, and the
 * runner's own tools that the policy denies to the run. A provider none of whose tools the run's layers can name is not called.
 */
export async function listProviderTools(
  clients: Pick<ServiceClients, "listTools" | "ensureServer" | "listBuiltins" | "filterOwn">,
  { token, layers, policed }: ListingRun,
  options: { readonly signal: AbortSignal; readonly correlationId: string },
): Promise<Listing> {
  const [builtins, { tools, unavailable }, denied] = await Promise.all([
    canName("bare", layers)
      ? clients.listBuiltins({ token }, options).catch(noneWithoutToolbox)
      : NONE,
    canName("server", layers) ? listServerTools(clients, { token, layers }, options) : NONE,
    deniedOf(clients, { token, policed }, options),
  ]);
  return {
    tools: [
      ...builtins.tools.map(({ name, description, inputSchema }) => {
        return { name, tool: name, server: null, description, inputSchema };
      }),
      ...tools,
    ],
    denied,
    unavailable,
  };
}

/** Returns no tools without an answer: the policy decides about each call anyway. */
async function deniedOf(
  { filterOwn }: Pick<ServiceClients, "filterOwn">,
  { token, policed }: Pick<ListingRun, "token" | "policed">,
  options: { readonly signal: AbortSignal; readonly correlationId: string },
): Promise<readonly string[]> {
  if (policed.length === 0) return [];
  try {
    const allowed = new Set(await filterOwn({ token, names: policed }, options));
    return policed.filter((name) => !allowed.has(name));
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

const NONE = { tools: [], unavailable: [] };

/** False when a layer has only patterns of the other kind; `bare` patterns name tools without a server. */
export function canName(kind: "bare" | "server", layers: readonly (readonly string[])[]): boolean {
  const other = kind === "bare" ? "server" : "bare";
  const isPossible = (pattern: string): boolean =>
    !pattern.startsWith("!") && parseToolPattern(pattern).kind !== other;
  return layers.every((layer) => layer.some(isPossible));
}

/** There need not be a toolbox. One that is there and does not answer is an outage. */
function noneWithoutToolbox(error: unknown): { tools: [] } {
  if (error instanceof ServiceError && error.code === "no_responders") return { tools: [] };
  throw error;
}
