import { resolve } from "node:path";
import { CliError } from "../cli-error.ts";
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
  type SettingName,
} from "../settings.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Options {
  readonly json?: true;
  readonly showOrigin?: true;
}

const NAMES = Object.keys(SETTINGS) as SettingName[]; // the keys of an object that nobody extends

export function get(terminal: Terminal, name: string, options: Options): void {
  const found = setting(known(name), process.env);
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
  const file = project === true ? ofProject(known(name)) : userConfigFile(process.env);
  changeSetting(file, known(name), value === "" ? null : value);
  const found = setting(known(name), process.env);
  if (options.json) return writeJson(terminal, { name, ...found });
  terminal.note(`written to ${file}`);
  if (found.value !== value && value !== "")
    terminal.note(`${found.origin} goes before it: ${name} stays ${found.value}`);
}

function ofProject(name: SettingName): string {
  if (name === "context")
    throw new CliError("usage", "a project does not choose the installation", {
      hint: "leave --project out, or use: ./yard context use NAME",
    });
  const file = projectConfigFile(process.env);
  if (file !== null) return file;
  throw new CliError("usage", "there is no project here", {
    hint: "a project has a directory .switchyard; make one with: mkdir .switchyard",
  });
}

export function list(terminal: Terminal, options: Options): void {
  const rows = NAMES.map((name) => ({ name, ...setting(name, process.env) }));
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
  options: { nats: string; user?: string; nkeyFile?: string } & Options,
): void {
  if (!CONTEXT_NAME.test(name) || name === LOCAL)
    throw new CliError("usage", `${JSON.stringify(name)} cannot be the name of a context`, {
      hint: `a name has a-z, 0-9 and -; ${LOCAL} is the installation of this machine`,
    });
  const { nats, user = null, nkeyFile } = options;
  if (!/^(?:nats|tls|wss?):\/\//.test(nats) || nats.includes("@"))
    throw new CliError(
      "usage",
      `${JSON.stringify(nats.replace(/\/\/.*@/, "//…@"))} is not the address of a NATS server`,
      {
        hint: "such as nats://nats.example.com:4222, without a password: keys are in files (--nkey-file)",
      },
    );
  const context = { nats, user, nkeyFile: nkeyFile === undefined ? null : resolve(nkeyFile) };
  saveContext(process.env, name, context);
  if (options.json) return writeJson(terminal, { name, ...context });
  terminal.note(`use it with: ./yard context use ${name}`);
}

export function useContext(terminal: Terminal, name: string, options: Options): void {
  if (name !== LOCAL && contexts(process.env)[name] === undefined)
    throw new CliError("usage", `there is no context ${name}`, {
      hint: "see those that there are with: ./yard context list",
    });
  changeSetting(userConfigFile(process.env), "context", name === LOCAL ? null : name);
  if (options.json) return writeJson(terminal, { context: name });
  terminal.note(
    name === LOCAL
      ? "commands talk to the yard dev of this machine"
      : `commands talk to ${contexts(process.env)[name]?.nats}`,
  );
}

export function removeContext(terminal: Terminal, name: string, options: Options): void {
  if (contexts(process.env)[name] === undefined)
    throw new CliError("usage", `there is no context ${name}`, {
      hint: "see those that there are with: ./yard context list",
    });
  saveContext(process.env, name, null);
  if (setting("context", process.env).value === name)
    changeSetting(userConfigFile(process.env), "context", null);
  if (options.json) return writeJson(terminal, { removed: name });
  terminal.note(`${name} is removed`);
}

export function listContexts(terminal: Terminal, options: Options): void {
  const current = currentContext(process.env)?.name ?? LOCAL;
  const all = [
    { name: LOCAL, nats: "(yard dev, or YARD_NATS_URL)", user: null, nkeyFile: null },
    ...Object.entries(contexts(process.env)).map(([name, { nats, user, nkeyFile }]) => ({
      name,
      nats,
      user,
      nkeyFile,
    })),
  ];
  if (options.json) return writeJson(terminal, { current, contexts: all });
  const lines = tableLines(
    [
      { title: "CONTEXT", value: ({ name }) => (name === current ? `${name} ◂` : name) },
      { title: "NATS", value: ({ nats }) => nats },
      { title: "USER", value: ({ user }) => user ?? "cli" },
      { title: "KEY", value: ({ nkeyFile }) => nkeyFile ?? "–" },
    ],
    all,
  );
  for (const line of lines) terminal.out(line);
}
