import { client } from "@switchyard/bus/call";
import {
  approvePins,
  blockPins,
  diffPin,
  listPins,
  refreshTools,
  ToolFinding,
  type PinState,
  type ToolPin,
} from "@switchyard/contracts/mcp-broker/mcp-pins";
import { ServerId } from "@switchyard/contracts/ids";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { fieldLines } from "../field-lines.ts";
import { printableLine } from "../printable.ts";
import { count, timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { askMcpServer } from "./ask-mcp-server.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Output {
  readonly json?: true;
}

const contracts = { approvePins, blockPins, diffPin, listPins };
type Api = ReturnType<typeof client<typeof contracts>>;

/** Pins per request. */
const PAGE = 1_000;

async function withPins<T>(
  terminal: Terminal,
  server: string,
  question: (api: Api) => Promise<T>,
): Promise<T> {
  if (!ServerId.safeParse(server).success)
    throw new CliError("unknown_server", `${JSON.stringify(server)} is not a valid server id`, {
      hint: "see the servers with: ./yard mcp list",
    });
  return withBus(await findBus(terminal.env), (bus) => question(client(bus, contracts)));
}

export async function refresh(terminal: Terminal, server: string, options: Output): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    askMcpServer(bus, refreshTools, { server, request: {} }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.note(`the tools of ${server} are read again; ${reply.toolCount} can be called`);
}

export async function list(
  terminal: Terminal,
  server: string,
  options: Output & Times & { state?: PinState },
): Promise<void> {
  const pins = await withPins(terminal, server, (api) => allPins(api, server, options.state));
  if (options.json) return writeJson(terminal, { pins });
  if (pins.length === 0) return terminal.note(`no such tool of ${server} was ever listed`);
  const lines = tableLines(
    [
      { title: "TOOL", value: (pin) => printableLine(pin.tool), maxWidth: 60 },
      { title: "STATE", value: (pin) => pin.state },
      { title: "SEEN", value: (pin) => timeText(pin.seenAt, options) },
      { title: "APPROVED BY", value: (pin) => pin.approvedBy ?? "–" },
      { title: "DIGEST", value: (pin) => pin.digest.slice(0, 19) },
      { title: "FINDINGS", value: findingText, maxWidth: 80 },
    ],
    pins,
  );
  for (const line of lines) terminal.out(line);
}

/** The differences with what cannot be seen as escapes, and the digest to approve. */
export async function diff(
  terminal: Terminal,
  server: string,
  { tool, json }: Output & { tool: string },
): Promise<void> {
  const reply = await withPins(terminal, server, (api) => api.diffPin({ server, tool }));
  if (json) return writeJson(terminal, reply);
  const { pin, identityChanged, differences, omitted } = reply;
  const facts: [string, string][] = [
    ["tool", printableLine(pin.tool)],
    ["state", pin.state],
    ["approved", pin.approvedBy === null ? "never" : `by ${pin.approvedBy} ${pin.approvedAt}`],
    ["digest", pin.digest],
    ...(identityChanged
      ? [["server", "another command or address than the approved one"] as [string, string]]
      : []),
    ...pin.findings.map((finding): [string, string] => [
      finding.severity,
      `${finding.code} at ${printableLine(finding.where)}: ${printableLine(finding.evidence)}`,
    ]),
  ];
  for (const line of fieldLines(facts)) terminal.out(line);
  for (const { where, before, after } of differences) {
    terminal.out("");
    terminal.out(where === "" ? "the whole definition" : printableLine(where));
    if (before !== null) terminal.out(terminal.paintOut("red", `- ${printableLine(before)}`));
    if (after !== null) terminal.out(terminal.paintOut("green", `+ ${printableLine(after)}`));
  }
  if (omitted > 0) terminal.note(`${omitted} more differences are not shown`);
  if (pin.state === "changed") for (const line of waysToAccept(server, reply)) terminal.note(line);
}

function waysToAccept(
  server: string,
  { pin, isReworded = false }: { pin: ToolPin; isReworded?: boolean | undefined },
): string[] {
  const approval = `./yard mcp pins approve ${server} ${shellWord(pin.tool)} --digest ${pin.digest}`;
  const trust = `./yard mcp update ${server} '{"trust":"pin-schema"}'`;
  return [
    `accept this definition with: ${approval}`,
    ...(isReworded
      ? [
          `only texts differ. If the server words them anew at each start, accept other texts from now on with: ${trust}`,
        ]
      : []),
  ];
}

function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export async function approve(
  terminal: Terminal,
  server: string,
  options: Output & { tools: string[]; override?: string[]; digest?: string },
): Promise<void> {
  const { tools, digest } = options;
  if (digest !== undefined && tools.length !== 1)
    throw new CliError("usage", "--digest is of one tool", { hint: "name exactly one tool" });
  const request = {
    server,
    ...(tools.length === 0
      ? {}
      : { tools: tools.map((tool) => (digest === undefined ? { tool } : { tool, digest })) }),
    ...(options.override === undefined ? {} : { override: options.override.map(findingCode) }),
  };
  const reply = await withPins(terminal, server, (api) => api.approvePins(request));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(
    reply.approved === 0
      ? `nothing of ${server} waited for an approval; see its tools with: ./yard mcp pins list ${server}`
      : `${count(reply.approved, "tool")} of ${server} approved`,
  );
}

export async function block(
  terminal: Terminal,
  server: string,
  { tools, json }: Output & { tools: string[] },
): Promise<void> {
  const reply = await withPins(terminal, server, (api) => api.blockPins({ server, tools }));
  if (json) return writeJson(terminal, reply);
  terminal.note(`${count(reply.blocked, "tool")} of ${server} blocked`);
}

async function allPins(
  api: Api,
  server: string,
  state: PinState | undefined,
): Promise<readonly ToolPin[]> {
  const pins: ToolPin[] = [];
  for (;;) {
    const last = pins.at(-1);
    const page = await api.listPins({
      server,
      limit: PAGE,
      ...(state === undefined ? {} : { states: [state] }),
      ...(last === undefined ? {} : { after: last.tool }),
    });
    pins.push(...page.pins);
    if (!page.more) return pins;
  }
}

function findingText({ findings }: ToolPin): string {
  return findings.map(({ severity, code }) => (severity === "hard" ? `${code}!` : code)).join(", ");
}

function findingCode(text: string): ToolFinding["code"] {
  const { data } = ToolFinding.shape.code.safeParse(text);
  if (data !== undefined) return data;
  throw new CliError("usage", `${JSON.stringify(text)} is not the code of a finding`, {
    hint: `the codes are: ${ToolFinding.shape.code.options.join(", ")}`,
  });
}
