import { setTimeout as wait } from "node:timers/promises";
import { canonicalDigest, canonicalJson, digestOf } from "@switchyard/contracts/canonical-json";
import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import type { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import {
  foldedToolName,
  mcpToolDescription,
  mcpToolRef,
  type ToolRef,
} from "@switchyard/contracts/tool-names";
import type { JsonRecord } from "@switchyard/contracts/json-record";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { SchemaNote } from "@switchyard/service/json-schema/prepare-schema";
import { visible } from "@switchyard/service/visible-text";
import { textFindings } from "../findings/text-findings.ts";
import {
  byForeignLetters,
  neighbourFindings,
  noNeighbours,
  OwnNames,
  type Neighbourhood,
} from "../findings/neighbour-findings.ts";
import { clientDefinition } from "./client-definition.ts";
import type { ListedTool } from "./listed-tool.ts";
import type { ToolListing } from "./read-tool-list.ts";
import { schemaFindings } from "../findings/schema-findings.ts";

/** A listed tool with everything that is computed once for each definition. */
export interface InspectedTool {
  readonly name: string;
  readonly ref: ToolRef;
  /** The name in the folded form that no other tool may share. */
  readonly foldedName: string;
  readonly info: ToolInfo;
  readonly inputSchema: JsonRecord;
  readonly outputSchema: JsonRecord | null;
  readonly inputDigest: string;
  readonly outputDigest: string;
  readonly definition: JsonRecord;
  /** Digest of the definition alone. */
  readonly definitionDigest: string;
  /** Digest of the definition and the server's identity. */
  readonly pin: string;
  readonly findings: readonly ToolFinding[];
}

export interface InspectedListing {
  readonly tools: readonly InspectedTool[];
  readonly problems: readonly string[];
}

export interface InspectionContext {
  readonly server: string;
  /** The server's identity: its program or its address. */
  readonly identity: unknown;
  /** The tools of the other servers. */
  readonly neighbours: Neighbourhood;
  /** Names of the server's tools that are approved; other ones must not look like them. */
  readonly approved: readonly string[];
}

/** Inspects the tools of a connection outside a broker: without neighbours and without pins. */
export function inspectAlone(
  config: ServerConfig,
  listing: ToolListing,
  signal?: AbortSignal,
): Promise<InspectedListing> {
  const identity = serverIdentity(config);
  const context = { server: config.id, identity, neighbours: noNeighbours, approved: [] };
  return inspectTools(listing, context, signal);
}

/** After this time other work gets its turn: ten thousand tools take a second, a hostile one nearly as long alone. */
const SLICE_MS = 10;
/** Pause for each millisecond that one tool took beyond a slice: its server's list gets one part in five of the time. */
const REST_PER_EXCESS = 4;

/** Rejects when the signal aborts: the list is no longer needed. */
export async function inspectTools(
  listing: ToolListing,
  context: InspectionContext,
  signal?: AbortSignal,
): Promise<InspectedListing> {
  const identity = canonicalJson(context.identity);
  const names = listing.tools.map(({ name }) => name);
  const own = new OwnNames([...context.approved, ...names.toSorted(byForeignLetters)]);
  const tools: InspectedTool[] = [];
  let sliceFrom = performance.now();
  for (const tool of listing.tools) {
    const spentMs = performance.now() - sliceFrom;
    if (spentMs > SLICE_MS) {
      await wait(REST_PER_EXCESS * Math.max(0, spentMs - 2 * SLICE_MS));
      signal?.throwIfAborted();
      sliceFrom = performance.now();
    }
    tools.push(inspectTool(tool, { ...context, identity, own }));
  }
  return { tools, problems: listing.problems };
}

function inspectTool(
  tool: ListedTool,
  { server, identity, own, neighbours }: InspectionContext & { identity: string; own: OwnNames },
): InspectedTool {
  const { name, definition, inputSchema, outputSchema } = tool;
  const ref = mcpToolRef(server, name);
  const text = canonicalJson(definition);
  // The canonical form of {definition, identity, v}: the keys are in order.
  const pin = digestOf(`{"definition":${text},"identity":${identity},"v":1}`);
  const shown = clientDefinition(tool);
  const findings = [
    ...textFindings(definition),
    ...neighbourFindings(tool, { server, own }, neighbours),
    ...schemaFindings("/inputSchema", inputSchema, definition["inputSchema"]),
    ...(outputSchema === null ? [] : schemaFindings("/outputSchema", outputSchema, outputSchema)),
    ...shown.notes.map(rewrittenFinding),
  ];
  // Findings that block must not fall behind a flood of others.
  findings.sort((a, b) => Number(b.severity === "hard") - Number(a.severity === "hard"));
  findings.splice(MAX_FINDINGS);
  const info: ToolInfo = {
    name: ref.name,
    server,
    tool: name,
    description: mcpToolDescription(server, tool.description),
    inputSchema: shown.inputSchema,
    ...(Object.keys(shown.rest).length === 0 ? {} : { definition: shown.rest }),
    pin,
    ...(findings.length === 0 ? {} : { findings }),
  };
  return {
    name,
    ref,
    foldedName: foldedToolName(ref.name),
    info,
    inputSchema,
    outputSchema,
    inputDigest: canonicalDigest(inputSchema),
    outputDigest: outputSchema === null ? "" : canonicalDigest(outputSchema),
    definition,
    definitionDigest: digestOf(text),
    pin,
    findings,
  };
}

const MAX_FINDINGS = 50;

function rewrittenFinding({ where, text }: SchemaNote): ToolFinding {
  const evidence = visible(text, 500);
  return { code: "schema_not_portable", severity: "soft", where: visible(where, 300), evidence };
}

/**
 * The identity of a server in its pins: the program that runs or the address that answers, with references unresolved. Secrets
 * may change without the server becoming another one, so environment and headers are left out.
 */
export function serverIdentity(config: ServerConfig): object {
  if (config.transport === "stdio") {
    const { id, transport, command, args, cwd } = config;
    return { id, transport, command, args, cwd };
  }
  return { id: config.id, transport: "http", url: config.url };
}
