import { ServiceError } from "@switchyard/contracts/errors";
import type { UnavailableServer } from "@switchyard/contracts/agent-runner/runs";
import { parseToolPattern } from "@switchyard/contracts/tool-patterns";
import type { ListedTool } from "../core/tool-catalogue.ts";
import type { ServiceClients } from "./service-clients.ts";
import { matchesGlob } from "@switchyard/contracts/glob";
import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import type { ServerStatus } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { pause } from "@switchyard/contracts/timeouts";
import { cutBytes } from "@switchyard/contracts/cut-text";

/** The run that lists tools, and the layers of the tools that it may use at all. */
interface ListingRun {
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

type Layers = readonly (readonly string[])[];

/** Limits for the stored reasons, which come from servers. */
const MAX_REASONS = 20;
const MAX_REASON_BYTES = 300;

/**
 * Lists the tools of MCP servers that a run may use, and the servers whose tools are missing. A server that connects only when it
 * is first needed is connected now when the run's tools name it, since its tools are available only then. This takes at most as
 * long as `mcp.ensure`, for all of them together, and servers that are not connected in time are left out.
 */
async function listServerTools(
  clients: Pick<ServiceClients, "listTools" | "ensureServer">,
  { token, layers }: { readonly token: string; readonly layers: Layers },
  options: { readonly signal: AbortSignal; readonly correlationId: string },
): Promise<{
  readonly tools: readonly ToolInfo[];
  readonly unavailable: readonly UnavailableServer[];
}> {
  const first = await clients.listTools({ token }, options);
  const wanted = first.failures.filter(({ server, status }) => {
    return UNCONNECTED.has(status) && namedIn(layers, server) === "by name";
  });
  if (wanted.length === 0) return { ...first, unavailable: missingOf(first.failures, layers) };
  const refused = new Map<string, string>();
  const isNew = (server: string): boolean =>
    wanted.some((one) => one.server === server && one.status === "disconnected");
  await Promise.all(
    wanted.map(async ({ server }) => {
      try {
        await clients.ensureServer({ server }, options);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        refused.set(server, error.message);
      }
    }),
  );
  for (let look = 1; ; look += 1) {
    const { tools, failures } = await clients.listTools({ token }, options);
    // A broker other than the server's own may reply, and it is notified of new connections a moment later.
    const isLate = failures.some(({ server, status }) => {
      return status === "disconnected" && !refused.has(server) && isNew(server);
    });
    if (!isLate || look === MAX_LOOKS) {
      const unlisted = failures.map(({ server, status, error }) => {
        return { server, status, error: refused.get(server) ?? error };
      });
      return { tools, unavailable: missingOf(unlisted, layers) };
    }
    await pause(LOOK_AGAIN_MS, options.signal);
  }
}

const MAX_LOOKS = 4;
const LOOK_AGAIN_MS = 150;

const UNCONNECTED: ReadonlySet<ServerStatus> = new Set(["disconnected", "connecting"]);

/** A tool without a name of its own in the run's patterns is missing only when it should be there. */
function missingOf(
  failures: readonly { server: string; status: ServerStatus; error: string }[],
  layers: Layers,
): UnavailableServer[] {
  return failures
    .filter(({ server, status }) => {
      const named = namedIn(layers, server);
      return named === "by name" || (named === "with all" && status !== "disconnected");
    })
    .slice(0, MAX_REASONS)
    .map(({ server, error }) => ({ server, reason: cutBytes(error, MAX_REASON_BYTES) }));
}

/** Returns whether the run may use tools of a server at all, and if so, whether one of its patterns names this server. */
function namedIn(layers: Layers, server: string): "by name" | "with all" | "not" {
  let isNamed = false;
  for (const layer of layers) {
    const globs = layer.flatMap((pattern) => {
      const parsed = parseToolPattern(pattern);
      if (pattern.startsWith("!") || parsed.kind === "bare") return [];
      return [parsed.kind === "everything" ? "*" : parsed.server];
    });
    const matching = globs.filter((glob) => matchesGlob(glob, server));
    if (matching.length === 0) return "not";
    isNamed ||= matching.some((glob) => /[^*?]/.test(glob));
  }
  return isNamed ? "by name" : "with all";
}
