import { resolve } from "node:path";
import { CliError } from "../cli-error.ts";
import { serverAddress } from "../server-address.ts";
import {
  changeSetting,
  contexts,
  currentContext,
  LOCAL,
  projectConfigFile,
  saveContext,
  setting,
  SETTINGS,
  userConfigFile,
  type Context,
  type SettingName,
} from "../settings.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
  readonly showOrigin?: true;
}

const NAMES = Object.keys(SETTINGS) as SettingName[]; // `SETTINGS` is a literal, so its keys are these names.

export function get(terminal: Terminal, name: string, options: Options): void {
  const found = setting(known(name), terminal.env);
  if (options.json) return writeJson(terminal, { name, ...found });
  if (found.value === null) return terminal.note(`${name} is not set`);
  terminal.out(options.showOrigin ? `${found.value}  (${found.origin})` : found.value);
}

/** Writes a setting to the person's file, or to the project's; an empty value takes it out. */
export function set(
  terminal: Terminal,
  name: string,
  options: { readonly value: string; readonly project?: true } & Options,
): void {
  const { value, project } = options;
  const file =
    project === true ? ofProject(known(name), terminal.env) : userConfigFile(terminal.env);
  changeSetting(file, known(name), value === "" ? null : value);
  const found = setting(known(name), terminal.env);
  if (options.json) return writeJson(terminal, { name, ...found });
  terminal.note(`written to ${file}`);
  if (found.value !== value && value !== "")
    terminal.note(`${found.origin} goes before it: ${name} stays ${found.value}`);
}

function ofProject(name: SettingName, env: NodeJS.ProcessEnv): string {
  if (name === "context")
    throw new CliError("usage", "a project does not choose the installation", {
      hint: "leave --project out, or use: ./yard context use NAME",
    });
  const file = projectConfigFile(env);
  if (file !== null) return file;
  throw new CliError("usage", "there is no project here", {
    hint: "a project has a directory .switchyard; make one with: mkdir .switchyard",
  });
}

export function list(terminal: Terminal, options: Options): void {
  const rows = NAMES.map((name) => ({ name, ...setting(name, terminal.env) }));
  if (options.json) return writeJson(terminal, { settings: rows });
  const lines = tableLines(
    [
      { title: "SETTING", value: ({ name }) => name },
      { title: "VALUE", value: ({ value }) => value ?? "–" },
      ...(options.showOrigin
        ? [{ title: "FROM", value: ({ origin }: (typeof rows)[number]) => origin }]
        : []),
      { title: "FOR", value: ({ name }) => SETTINGS[name] },
    ],
    rows,
  );
  for (const line of lines) terminal.out(line);
}

function known(name: string): SettingName {
  const found = NAMES.find((candidate) => candidate === name);
  if (found !== undefined) return found;
  throw new CliError("usage", `there is no setting ${name}`, {
    hint: `settings: ${NAMES.join(", ")}`,
  });
}

const CONTEXT_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

export function addContext(
  terminal: Terminal,
  name: string,
  options: ContextOptions & Options,
): void {
  checkContextName(name);
  const context = contextOf(options);
  saveContext(terminal.env, name, context);
  if (options.json) return writeJson(terminal, { name, ...context });
  terminal.note(`use it with: ./yard context use ${name}`);
}

/** Throws `usage` for what cannot be the name of a context. */
export function checkContextName(name: string): void {
  if (CONTEXT_NAME.test(name) && name !== LOCAL) return;
  throw new CliError("usage", `${JSON.stringify(name)} cannot be the name of a context`, {
    hint: `a name has a-z, 0-9 and -; ${LOCAL} is the installation of this machine`,
  });
}

interface ContextOptions {
  readonly nats?: string;
  readonly user?: string;
  readonly nkeyFile?: string;
  readonly http?: string;
  readonly keyFile?: string;
}

function contextOf({ nats, user, nkeyFile, http, keyFile }: ContextOptions): Context {
  if (http !== undefined) {
    if (nats !== undefined || user !== undefined || nkeyFile !== undefined)
      throw new CliError("usage", "--http does not go with --nats, --user and --nkey-file", {
        hint: "the gateway knows by the key who asks: --http URL --key-file FILE",
      });
    if (keyFile === undefined)
      throw new CliError("usage", "--http needs --key-file, a file with an API key", {
        hint: "or let yard keep the key: ./yard login URL",
      });
    return { http: serverAddress(http), keyFile: resolve(keyFile) };
  }
  if (nats === undefined)
    throw new CliError("usage", "a context needs the address of an installation", {
      hint: "of its NATS server with --nats, or of its gateway with --http",
    });
  if (keyFile !== undefined)
    throw new CliError("usage", "--key-file goes with --http", {
      hint: "the key of a NATS user is named with --nkey-file",
    });
  if (!/^(?:nats|tls|wss?):\/\//.test(nats) || nats.includes("@"))
    throw new CliError(
      "usage",
      `${JSON.stringify(nats.replace(/\/\/.*@/, "//…@"))} is not the address of a NATS server`,
      {
        hint: "such as nats://nats.example.com:4222, without a password: keys are in files (--nkey-file)",
      },
    );
  return {
    nats,
    user: user ?? null,
    nkeyFile: nkeyFile === undefined ? null : resolve(nkeyFile),
  };
}

/** The address that a context names. */
function addressOf(context: Context): string {
  return "http" in context ? context.http : context.nats;
}

export function useContext(terminal: Terminal, name: string, options: Options): void {
  if (name !== LOCAL && contexts(terminal.env)[name] === undefined)
    throw new CliError("usage", `there is no context ${name}`, {
      hint: "see those that there are with: ./yard context list",
    });
  changeSetting(userConfigFile(terminal.env), "context", name === LOCAL ? null : name);
  if (options.json) return writeJson(terminal, { context: name });
  terminal.note(
    name === LOCAL
      ? "commands talk to the yard dev of this machine"
      : `commands talk to ${addressOf(contexts(terminal.env)[name] as Context)}`,
  );
}

export function removeContext(terminal: Terminal, name: string, options: Options): void {
  if (contexts(terminal.env)[name] === undefined)
    throw new CliError("usage", `there is no context ${name}`, {
      hint: "see those that there are with: ./yard context list",
    });
  saveContext(terminal.env, name, null);
  if (setting("context", terminal.env).value === name)
    changeSetting(userConfigFile(terminal.env), "context", null);
  if (options.json) return writeJson(terminal, { removed: name });
  terminal.note(`${name} is removed`);
}

interface ListedContext {
  readonly nats: string | null;
  readonly user: string | null;
  readonly nkeyFile: string | null;
  readonly http: string | null;
  readonly keyFile: string | null;
}

const NOTHING: ListedContext = {
  nats: null,
  user: null,
  nkeyFile: null,
  http: null,
  keyFile: null,
};

export function listContexts(terminal: Terminal, options: Options): void {
  const current = currentContext(terminal.env)?.name ?? LOCAL;
  const all = [
    { name: LOCAL, ...NOTHING, nats: "(yard dev, or YARD_NATS_URL)" },
    ...Object.entries(contexts(terminal.env)).map(([name, context]) =>
      Object.assign({ name }, NOTHING, context),
    ),
  ];
  if (options.json) return writeJson(terminal, { current, contexts: all });
  const lines = tableLines(
    [
      { title: "CONTEXT", value: ({ name }) => (name === current ? `${name} ◂` : name) },
      { title: "ADDRESS", value: ({ nats, http }) => nats ?? http ?? "–" },
      { title: "USER", value: ({ user, http }) => user ?? (http === null ? "cli" : "of the key") },
      { title: "KEY", value: ({ nkeyFile, keyFile }) => nkeyFile ?? keyFile ?? "–" },
    ],
    all,
  );
  for (const line of lines) terminal.out(line);
}
