import { client } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { AgentName, CallerName, RunId, ServerId } from "@switchyard/contracts/ids";
import {
  listStops,
  resumeCalls,
  scopeText,
  stopCalls,
  type Stop,
  type StopScope,
} from "@switchyard/contracts/policy/policy-budgets";
import {
  activatePolicy,
  listPolicyVersions,
  rollbackPolicy,
  type PolicyVersion,
} from "@switchyard/contracts/policy/policy-bundles";
import type { z } from "zod";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { printableLine } from "../printable.ts";
import { count, timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { noteUnknownScope } from "../unknown-names.ts";
import { readPolicyFiles } from "./policy-files.ts";

interface Activation {
  readonly active: PolicyVersion;
  readonly previous: PolicyVersion | null;
}

/** Activates a file, a directory, an earlier version, or the service's own files. */
export async function activate(
  terminal: Terminal,
  path: string | undefined,
  options: { version?: string; followFiles?: true; note?: string; json?: true },
): Promise<void> {
  const { version, followFiles, note } = options;
  const request = {
    ...(path === undefined ? {} : { files: await readPolicyFiles(path) }),
    ...(version === undefined ? {} : { version: numberOf(version) }),
    ...(followFiles === undefined ? {} : { followFiles }),
    ...(note === undefined ? {} : { note }),
  };
  const activation = await withBus(await findBus(terminal.env), async (bus) => {
    try {
      return await client(bus, { activatePolicy }).activatePolicy(request);
    } catch (error) {
      if (!isError(error, activatePolicy, "refused")) throw error;
      for (const { file = "policy", line, column, message } of error.data.problems)
        terminal.note(printableLine(`${file}:${line}:${column}: ${message}`));
      for (const { file = "tests", line, name, message } of error.data.failing)
        terminal.note(printableLine(`${file}:${line}: test "${name}": ${message ?? "fails"}`));
      throw error;
    }
  });
  printActivation(terminal, activation, options);
}

/** Reactivates the bundle before the current one. */
export async function rollback(
  terminal: Terminal,
  options: { note?: string; json?: true },
): Promise<void> {
  const { note } = options;
  const activation = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { rollbackPolicy }).rollbackPolicy(note === undefined ? {} : { note }),
  );
  printActivation(terminal, activation, options);
}

/** The bundles that were in force, the newest first. */
export async function versions(
  terminal: Terminal,
  options: { json?: true } & Times,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listPolicyVersions }).listPolicyVersions({}),
  );
  if (options.json) return writeJson(terminal, reply);
  const lines = tableLines<PolicyVersion>(
    [
      { title: "VERSION", value: ({ version }) => String(version) },
      { title: "SINCE", value: ({ at }) => timeText(at, options) },
      { title: "FROM", value: ({ source }) => (source === "file" ? "files" : "activation") },
      { title: "BY", value: ({ by }) => by ?? "" },
      { title: "RULES", value: ({ rules }) => String(rules) },
      { title: "DIGEST", value: ({ policyDigest }) => policyDigest.slice(0, 19) },
      { title: "NOTE", value: ({ note }) => printableLine(note ?? ""), maxWidth: 48 },
    ],
    reply.versions,
  );
  for (const line of lines) terminal.out(line);
  const refused = reply.filesRefused ?? null;
  if (refused !== null) terminal.note("the files of the service are refused, because of");
  for (const line of refused ?? []) terminal.note(printableLine(`  ${line}`));
  terminal.note(
    reply.followsFiles
      ? refused === null
        ? "the files of the service are followed"
        : "the last good ones stay in force until the files are good"
      : "an activated version is in force; yard policy activate --follow-files follows the files again",
  );
}

/** The kill switch: the reply comes when it is in force everywhere. */
export async function stop(
  terminal: Terminal,
  options: ScopeOptions & { reason: string; json?: true },
): Promise<void> {
  const request = { scope: scopeOf(options), reason: options.reason };
  const reply = await withBus(await findBus(terminal.env), async (bus) => {
    const stopped = await client(bus, { stopCalls }).stopCalls(request);
    await noteUnknownScope(terminal, bus, request.scope);
    return stopped;
  });
  if (options.json) return writeJson(terminal, reply);
  terminal.out(`stopped: ${scopeText(request.scope)}`);
}

export async function resume(
  terminal: Terminal,
  options: ScopeOptions & { json?: true },
): Promise<void> {
  const scope = scopeOf(options);
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { resumeCalls }).resumeCalls({ scope }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.out(reply.resumed ? `resumed: ${scopeText(scope)}` : `not stopped: ${scopeText(scope)}`);
}

export async function stops(terminal: Terminal, options: { json?: true } & Times): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listStops }).listStops({}),
  );
  if (options.json) return writeJson(terminal, reply);
  const lines = tableLines<Stop>(
    [
      { title: "STOPPED", value: ({ scope }) => scopeText(scope) },
      { title: "SINCE", value: ({ at }) => timeText(at, options) },
      { title: "BY", value: ({ by }) => by },
      { title: "REASON", value: ({ reason }) => printableLine(reason), maxWidth: 60 },
    ],
    reply.stops,
  );
  for (const line of reply.stops.length === 0 ? ["nothing is stopped"] : lines) terminal.out(line);
}

export interface ScopeOptions {
  readonly all?: true;
  readonly agent?: string;
  readonly run?: string;
  readonly server?: string;
  readonly user?: string;
}

function scopeOf({ all, agent, run, server, user }: ScopeOptions): StopScope {
  const scopes: StopScope[] = [
    ...(all === undefined ? [] : [{ kind: "all" as const }]),
    ...named("agent", agent, AgentName),
    ...named("run", run, RunId),
    ...named("server", server, ServerId),
    ...named("user", user, CallerName),
  ];
  const [scope] = scopes;
  if (scope !== undefined && scopes.length === 1) return scope;
  throw new CliError("usage", "name the calls that it applies to", {
    hint: "give exactly one of --all, --agent, --run, --server and --user",
  });
}

function named<K extends "agent" | "run" | "server" | "user">(
  kind: K,
  text: string | undefined,
  schema: z.ZodType<string>,
): { kind: K; name: string }[] {
  if (text === undefined) return [];
  const name = schema.safeParse(text);
  if (name.success) return [{ kind, name: name.data }];
  const why = name.error.issues[0]?.message ?? "is not valid";
  throw new CliError("usage", `--${kind} ${JSON.stringify(text)} ${why}`);
}

function printActivation(
  terminal: Terminal,
  activation: Activation,
  options: { json?: true },
): void {
  if (options.json) return writeJson(terminal, activation);
  const { active, previous } = activation;
  const from = active.source === "file" ? "the files of the service" : `version ${active.version}`;
  terminal.out(`in force: ${from}, ${count(active.rules, "rule")}, ${active.policyDigest}`);
  if (previous !== null) terminal.note(`before: version ${previous.version}`);
}

function numberOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new CliError("usage", `--version ${JSON.stringify(text)} is not a version number`);
}
