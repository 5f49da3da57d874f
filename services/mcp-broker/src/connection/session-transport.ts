import type { Transport } from "@modelcontextprotocol/client";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { redactText } from "@switchyard/service/redact";
import type { ChildRecords } from "../process/child-records.ts";
import type { Program } from "../process/child-program.ts";
import type { ResolvedServer } from "../declaration/env-references.ts";
import type { HttpAuth } from "../auth/connection-auth.ts";
import { createHttpTransport } from "./http-transport.ts";
import { exitExcerpt } from "./exit-excerpt.ts";
import type { RequestLane } from "./request-lane.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** A transport with the facts that the session needs beyond the SDK's interface. */
export interface SessionTransport {
  readonly transport: Transport;
  /** Takes requests beside the protocol layer; null where only that can send them. */
  readonly lane: RequestLane | null;
  /** Returns the reason why the other side ended the connection; null when it did not, or when the reason is unknown. */
  describeEnd(): string | null;
  /** The reason with the output of the process: lines that were not messages, and its stderr. */
  explain(reason: string): string;
  /** The end of the process's stderr, with resolved references put back; empty without a process. */
  stderr(): string;
  /** Ends the connection. Resolves when nothing is left of it on this machine; never rejects. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly server: string;
  readonly resolved: ResolvedServer;
  /** The program that starts a stdio server; null for the others. */
  readonly program: Program | null;
  readonly records: ChildRecords;
  readonly onTrouble: (problem: string) => void;
  /** The settings of an HTTP server beside its address. */
  readonly http: {
    readonly kind: "http" | "sse";
    readonly guard: EgressGuard;
    readonly authProvider?: HttpAuth | undefined;
  };
}

/** The address or a header in the configuration cannot be used. */
export class AddressError extends Error {
  override readonly name = "AddressError";
}

/** The most characters shown of each stream. */
const SAID_SHOWN = 900;

/** Makes the transport of a server; nothing is started or connected yet. Throws AddressError. */
export function createTransport(options: TransportOptions): SessionTransport {
  const { resolved, server, program } = options;
  const { launch } = resolved;
  if (program !== null) return stdioTransport({ ...options, program });
  if (launch.transport === "stdio") throw new Error(`unreachable: ${server} has a program`);
  const { kind, guard, authProvider } = options.http;
  for (const [name, value] of Object.entries(launch.headers)) checkHeader(server, { name, value });
  const link = createHttpTransport({
    kind,
    url: httpUrl(server, launch.url),
    headers: launch.headers,
    guard,
    authProvider,
    onFinding: options.onTrouble,
  });
  return { ...link, lane: null, explain: (reason) => reason, stderr: () => "" };
}

function stdioTransport(options: TransportOptions & { program: Program }): SessionTransport {
  const { server, program, resolved, records, onTrouble } = options;
  const record = records.expect(server, (error) =>
    onTrouble(`child process not recorded: ${String(error)}`),
  );
  const transport = new StdioTransport({
    ...program,
    env: { ...program.env, ...record.mark },
    ...record,
    onFinding: onTrouble,
  });
  const explain = (reason: string): string => explained(reason, { transport, resolved });
  return {
    transport,
    lane: transport.lane,
    describeEnd: () => (transport.endReason === null ? null : explain(transport.endReason)),
    explain,
    stderr: () => redactText(resolved.redactTail(transport.stderrTail)),
    close: () => transport.close(),
  };
}

function explained(
  reason: string,
  { transport, resolved }: { transport: StdioTransport; resolved: ResolvedServer },
): string {
  // Redacted before the cut: half of a value would not be found.
  const said = [
    ["stderr", transport.stderrTail],
    ["stdout", transport.ignoredTail],
  ] as const;
  const words = said.flatMap(([stream, tail]) => {
    const text = exitExcerpt(resolved.redactTail(tail), SAID_SHOWN);
    return text === "" ? [] : [`; ${stream}: ${text}`];
  });
  return `${reason}${words.join("")}`;
}

/** `fetch` would repeat the value in its error. White space around it is taken off there. */
function checkHeader(server: string, { name, value }: { name: string; value: string }): void {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value.replaceAll(/^[\t\n\r ]+|[\t\n\r ]+$/g, ""))) return;
  throw new AddressError(
    `server ${server}: "headers.${name}" has a line break, or a character that no header may have, once its references are resolved`,
  );
}

function httpUrl(server: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && ["http:", "https:"].includes(url.protocol)) return url;
  throw new AddressError(
    `server ${server}: "url" is not an http or https address once its references are resolved`,
  );
}
