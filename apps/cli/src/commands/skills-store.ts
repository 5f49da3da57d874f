import { client } from "@switchyard/bus/call";
import {
  diffSkill,
  listVersions,
  listWithheld,
  removeSkill,
  rollbackSkill,
  trustSkill,
} from "@switchyard/contracts/skill-importer/skill-store";
import { CliError } from "../cli-error.ts";
import { findBus, withBus } from "../bus-session.ts";
import { printableLine } from "../printable.ts";
import { diffLines } from "../skills/diff-lines.ts";
import { type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { versionLines } from "./version-lines.ts";

interface Options {
  readonly json?: true;
}

export async function versions(
  terminal: Terminal,
  name: string,
  options: Options & Times,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listVersions }).listVersions({ name }),
  );
  if (options.json) return writeJson(terminal, reply);
  const lines = versionLines(reply, {
    wide: options.wide,
    id: "VERSION",
    idOf: ({ version }: { version: string }) => version,
    filesOf: ({ files }) => files.length,
  });
  for (const line of lines) terminal.out(line);
}

export async function rollback(
  terminal: Terminal,
  name: string,
  { version, json }: Options & { version?: string | undefined },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { rollbackSkill }).rollbackSkill({ name, version }),
  );
  if (json) return writeJson(terminal, reply);
  terminal.out(`${name} is ${reply.version} again`);
}

export async function remove(terminal: Terminal, name: string, options: Options): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { removeSkill }).removeSkill({ name }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.out(
    `${name} is no longer listed; back with: yard skills rollback ${name} ${reply.version}`,
  );
}

export async function withheld(terminal: Terminal, options: Options): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listWithheld }).listWithheld({}),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.withheld.length === 0) return terminal.note("nothing is withheld");
  const lines = tableLines(
    [
      { title: "KIND", value: ({ kind }) => kind },
      { title: "NAME", value: ({ name }) => name },
      { title: "WHY", value: ({ reason }) => reason },
      { title: "VERSION", value: ({ version }) => version },
      { title: "FILE", value: ({ root, file }) => printableLine(`${root}/${file}`), maxWidth: 60 },
    ],
    reply.withheld,
  );
  for (const line of lines) terminal.out(line);
}

/** Lists what was withheld. Without a version the one that is withheld under the name, when it is only one. */
export async function trust(
  terminal: Terminal,
  name: string,
  options: Options & { agent?: true; version?: string; reason?: string },
): Promise<void> {
  const kind = options.agent === true ? "agent" : "skill";
  const reply = await withBus(await findBus(terminal.env), async (bus) => {
    const store = client(bus, { listWithheld, trustSkill });
    const version = options.version ?? (await onlyVersion(store, kind, name));
    return store.trustSkill({ kind, name, version, reason: options.reason ?? "" });
  });
  if (options.json) return writeJson(terminal, reply);
  terminal.out(`${name} ${reply.version} is trusted and listed; it was ${reply.was}`);
}

export async function diff(
  terminal: Terminal,
  name: string,
  { from, to, json }: Options & { from?: string; to?: string },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { diffSkill }).diffSkill({ name, from, to }),
  );
  if (json) return writeJson(terminal, reply);
  for (const line of diffLines(reply)) terminal.out(line);
}

async function onlyVersion(
  store: { listWithheld: (request: Record<never, never>) => Promise<{ withheld: Withheld[] }> },
  kind: Withheld["kind"],
  name: string,
): Promise<string> {
  const all = (await store.listWithheld({})).withheld;
  const [first, ...others] = all.filter((one) => one.kind === kind && one.name === name);
  if (first !== undefined && others.length === 0) return first.version;
  throw new CliError(
    "not_withheld",
    first === undefined
      ? `no ${kind} ${name} is withheld`
      : `${others.length + 1} versions of ${name} are withheld; name one with --version`,
    { hint: "see them with: ./yard skills withheld" },
  );
}

interface Withheld {
  readonly kind: "skill" | "agent";
  readonly name: string;
  readonly version: string;
}
